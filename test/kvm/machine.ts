/**
 * A machine with virtualization of its own, which QEMU emulates to the last instruction: Debian's kernel, the host's files to
 * read, and a disk for what it writes. Its clock counts its instructions, so that no time limit in it ends early.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, globSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The kernel of the machine and its initial RAM disk. */
export type Boot = { kernel: string; initramfs: string }

const kernelPackage = 'linux-image-amd64'
/** What the machine needs of the kernel's modules before it reads the host's files, and KVM. */
const modules = [
  'kernel/arch/x86/kvm',
  'kernel/crypto/crc32c_generic.ko*',
  'kernel/drivers/block/virtio_blk.ko*',
  'kernel/drivers/char/hw_random',
  'kernel/drivers/crypto/ccp',
  'kernel/drivers/virtio',
  'kernel/fs/9p',
  'kernel/fs/ext4',
  'kernel/fs/fscache',
  'kernel/fs/jbd2',
  'kernel/fs/mbcache.ko*',
  'kernel/fs/netfs',
  'kernel/fs/overlayfs',
  'kernel/lib',
  'kernel/net/9p',
  'kernel/virt/lib',
  'modules.*',
]
const memoryMb = 4096
const diskSize = '40G'
/** QEMU's translation cache: what runs in the machine is several times what runs in a VM. */
const translationCacheMb = 1024

const shell = (script: string, cwd: string): string =>
  execFileSync('sh', ['-ec', script], { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })

/**
 * Downloads Debian's kernel unless it is in the folder, and packs the initial RAM disk.
 * @throws Error when the package cannot be had.
 */
export function makeBoot(folder: string, init: string): Boot {
  const unpacked = join(folder, 'kernel')
  if (!existsSync(unpacked)) unpackKernel(folder, unpacked)
  const version = readdirSync(join(unpacked, 'lib/modules'))[0]!
  const contents = mkdtempSync(join(tmpdir(), 'berth-kvm-'))
  const below = join('lib/modules', version)
  for (const path of globSync(modules, { cwd: join(unpacked, below) }))
    cpSync(join(unpacked, below, path), join(contents, below, path), { recursive: true })
  mkdirSync(join(contents, 'bin'))
  cpSync(shell('command -v busybox', folder).trim(), join(contents, 'bin/busybox'), { dereference: true })
  cpSync(init, join(contents, 'init'))
  const initramfs = join(folder, 'initramfs')
  shell(
    `chmod 755 init; find . -name '*.ko.xz' -exec xz -d {} +; busybox depmod -b . ${version}
    find . | cpio -o -H newc --quiet | gzip -1 > '${initramfs}'`,
    contents,
  )
  rmSync(contents, { recursive: true })
  return { kernel: join(unpacked, 'boot', `vmlinuz-${version}`), initramfs }
}

function unpackKernel(folder: string, place: string): void {
  mkdirSync(folder, { recursive: true })
  const building = `${place}.building`
  rmSync(building, { recursive: true, force: true })
  try {
    shell(
      `name=$(apt-cache depends ${kernelPackage} | sed -n 's/.*Depends: \\(linux-image-[^ ]*\\).*/\\1/p' | head -n 1)
      mkdir ${building}.deb && cd ${building}.deb && apt-get -o APT::Sandbox::User=root download "$name" >&2
      dpkg -x ./*.deb '${building}'`,
      folder,
    )
  } catch {
    throw new Error(`Debian’s package ${kernelPackage} could not be had. Run apt-get update, and try again.`)
  } finally {
    rmSync(`${building}.deb`, { recursive: true, force: true })
  }
  renameSync(building, place)
}

/** Makes the empty disk that takes what the machine writes; it takes room only as it fills. */
export function makeDisk(path: string): void {
  shell(`truncate -s ${diskSize} '${path}'; mke2fs -q -t ext4 -E lazy_itable_init=1,lazy_journal_init=1 '${path}'`, '/')
}

/** The arguments of the machine's QEMU: standard output is the machine's second serial line. */
export function machineArguments(
  boot: Boot,
  places: { disk: string; console: string },
  kernelWords: string[],
): string[] {
  return [
    ['-M', 'q35', '-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot'],
    // AMD's virtualization, because QEMU emulates no other; an instruction is a nanosecond of the machine's clock.
    // A fifth level of page tables would only make each of the guest's many walks longer.
    ['-accel', `tcg,tb-size=${translationCacheMb}`, '-icount', 'shift=0', '-cpu', 'max,+svm,+npt,-la57'],
    ['-smp', '1', '-m', String(memoryMb), '-kernel', boot.kernel, '-initrd', boot.initramfs],
    ['-append', ['console=ttyS0 quiet panic=-1 mitigations=off tsc=reliable no_timer_check', ...kernelWords].join(' ')],
    ['-fsdev', 'local,id=host,path=/,security_model=none,readonly=on,multidevs=remap'],
    ['-device', 'virtio-9p-pci,fsdev=host,mount_tag=host'],
    ['-drive', `file=${places.disk},format=raw,if=none,id=own,cache=unsafe,discard=unmap`],
    ['-device', 'virtio-blk-pci,drive=own', '-device', 'virtio-rng-pci'],
    ['-serial', `file:${places.console}`, '-chardev', 'stdio,id=steps,signal=off', '-serial', 'chardev:steps'],
  ].flat()
}
