/** Waking a database for many clients. */
import { expect, test } from 'vitest'
import { createWaking } from '#src/edge/waking.ts'
import { until } from '../support/until.ts'

test('those who connect at the same time wake a database once, and later ones again', async () => {
  let count = 0
  const wake = createWaking(async (id) => `${id} ${++count}`)
  expect(await Promise.all([wake('a'), wake('a'), wake('b')])).toEqual(['a 1', 'a 1', 'b 2'])
  expect(await wake('a')).toBe('a 3')
})

test('one that cannot wake is not asked again at once', async () => {
  let count = 0
  const wake = createWaking(async () => {
    if (++count === 1) throw new Error('there is no room')
    return count
  })
  for (let client = 0; client < 100; client++) await expect(wake('a')).rejects.toThrow('there is no room')
  expect(count).toBe(1)
  await until('it is asked again', () =>
    wake('a').then(
      () => true,
      () => false,
    ),
  )
  expect(count).toBe(2)
})

test('one that could not wake is asked again as soon as it has changed', async () => {
  let works = false
  const wake = createWaking(async (id) => {
    if (!works) throw new Error('it is broken')
    return id
  })
  for (const changed of ['a', null]) {
    works = false
    await expect(wake('a')).rejects.toThrow('it is broken')
    works = true
    wake.forget('b')
    await expect(wake('a')).rejects.toThrow('it is broken')
    wake.forget(changed)
    expect(await wake('a')).toBe('a')
  }
})
