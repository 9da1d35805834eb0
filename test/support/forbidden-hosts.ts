/** Spellings of places that nothing may reach on a user's behalf (reliability.md S5). A test fails when there are fewer than 120. */

const loopbackIpv4 = [
  '127.0.0.1', '127.0.0.1.', '127.1', '127.0.1', '127.1.', '127.0.0.2', '127.64.0.3', '127.255.255.254', '2130706433', '2130706433.', '0x7f000001', '0x7f.0.0.1',
  '0x7f.1', '0X7F.0x0.0x0.0x1', '0177.0.0.1', '0177.1', '017700000001', '00177.0.0.01', '127.0x0.0.01', '127.0.0.0x1', '0x7f.0.1', '1２7.0.0.1', '１２７.０.０.１', '127。0。0。1',
  '127．0．0．1', '①②⑦.⓪.⓪.①', '0x00000000007f000001',
]
const loopbackNames = [
  'localhost', 'LOCALHOST', 'localhost.', 'LocalHost', 'ｌｏｃａｌｈｏｓｔ', 'ⓛⓞⓒⓐⓛⓗⓞⓢⓣ', 'a.localhost', 'localhost.localdomain', 'ip6-localhost', 'ip6-loopback', 'loopback.test', 'loopback6.test',
  'mapped.test', 'mixed.test', 'metadata.test', 'private.test', 'nat64.test', 'LOOPBACK.test', 'loopback.test.',
]
const unspecified = ['0', '0.0.0.0', '0.0.0.0.', '0.1.2.3', '0x0', '00', '0.0', '[::]', '[0:0:0:0:0:0:0:0]', '[::0]']
const loopbackIpv6 = [
  '[::1]', '[0:0:0:0:0:0:0:1]', '[0000:0000:0000:0000:0000:0000:0000:0001]', '[::0001]', '[0::1]', '::1', '[::1%lo]', '[::1%25lo]', '[::1%251]', '::1%lo', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]',
  '[::FFFF:127.0.0.1]', '[0:0:0:0:0:ffff:127.0.0.1]', '::ffff:127.0.0.1', '[::127.0.0.1]', '[::7f00:1]', '[::ffff:0:127.0.0.1]', '[64:ff9b::127.0.0.1]', '[64:ff9b::7f00:1]', '[64:ff9b:1::127.0.0.1]',
  '[2002:7f00:1::]', '[2002:7f00:0001::1]', '[2001:0:4136:e378:8000:63bf:80ff:fffe]', '[2001::1]', '[100::1]',
]
const metadata = [
  '169.254.169.254', '169.254.169.254.', '2852039166', '0xa9fea9fe', '0xa9.0xfe.0xa9.0xfe', '0251.0376.0251.0376', '169.254.43518', '169.16689662', '169.254.170.2', '168.63.129.16', '100.100.100.200', '192.0.0.192',
  '[fd00:ec2::254]', '[fd20:ce::254]', '[::ffff:169.254.169.254]', '[::ffff:a9fe:a9fe]', '[64:ff9b::a9fe:a9fe]', '[2002:a9fe:a9fe::]',
]
const privateRanges = [
  '10.0.0.1', '10.255.255.255', '10.1', '167772161', '0xa000001', '012.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.0.1', '192.168.1', '3232235521', '0xc0a80001', '100.64.0.1', '100.127.255.255',
  '169.254.0.1', '198.18.0.1', '192.0.0.1', '192.88.99.1', '[fc00::1]', '[fd00::1]', '[fd12:3456:789a::1]', '[fe80::1]', '[fe80::1%eth0]', '[fe80::1%25eth0]', '[febf::1]', '[fec0::1]',
  '[::ffff:10.0.0.1]', '[::ffff:192.168.0.1]', '[::10.0.0.1]', '[64:ff9b::10.0.0.1]', '[64:ff9b::c0a8:1]', '[2002:a00:1::]', '[2002:c0a8:1::1]',
]
const elsewhere = [
  '224.0.0.1', '239.255.255.250', '[ff02::1]', '[ff0e::1]', '255.255.255.255', '4294967295', '0xffffffff', '240.0.0.1', '250.1.2.3', '[::ffff:255.255.255.255]', '[4000::1]', '[5f00::1]',
]
const malformed = [
  '1.2.3.4.5', '256.256.256.256', '127.0.0.1.5', '0x7f000001ff', '99999999999', '127.0.0.1%00', '127.0.0.1%2e', '127%2e0%2e0%2e1', '%31%32%37.0.0.1', 'example..com', '*', '*.test', '[', '[]', '[::1', '[127.0.0.1]', '[::g]',
  'a'.repeat(254), `${'a.'.repeat(200)}test`, '.', '..', '.localhost',
]

/** All of them, by what they are; the names ending in `.test` stand in forbiddenNames. */
export const forbiddenHosts: readonly string[] = [
  ...loopbackIpv4, ...loopbackNames, ...unspecified, ...loopbackIpv6, ...metadata, ...privateRanges, ...elsewhere, ...malformed,
]

/** What the test's name server answers for the names among them. */
export const forbiddenNames: Record<string, readonly string[]> = {
  'loopback.test': ['127.0.0.1'], 'loopback6.test': ['::1'], 'mapped.test': ['::ffff:7f00:1'], 'mixed.test': ['203.0.113.9', '127.0.0.1'], 'metadata.test': ['169.254.169.254'],
  'private.test': ['10.0.0.1'], 'nat64.test': ['64:ff9b::7f00:1'], 'localhost': ['127.0.0.1', '::1'], 'a.localhost': ['127.0.0.1'],
  'localhost.localdomain': ['127.0.0.1'], 'ip6-localhost': ['::1'], 'ip6-loopback': ['::1'],
}
