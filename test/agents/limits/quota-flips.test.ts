import assert from 'node:assert/strict'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { bareEnv, tempDir } from '../../support/world.ts'
import { type ABook, aBook, fiveHours, HOUR, NOW, used } from './a-quota-book.ts'

for (const [key, level] of [
  ['notice_percent', 'notice'], // quota.notice_percent
  ['warning_percent', 'warning'], // quota.warning_percent
  ['critical_percent', 'critical'], // quota.critical_percent
] as const) {
  test(`quota.${key} says where that level begins`, async t => {
    const usual = await aBook(t)
    await usual.book.seen('a', [fiveHours(0.3)])
    assert.equal((await usual.book.of('a')).level, 'ok')
    const strict = await aBook(t, { [key]: 30 })
    await strict.book.seen('a', [fiveHours(0.3)])
    assert.equal((await strict.book.of('a')).level, level)
  })
}

test('quota.max_tokens_per_hour is what our own estimate calls a full hour', async t => {
  for (const [max, share] of [
    [100_000, 0.5],
    [50_000, 1],
  ] as const) {
    const world = await aBook(t, { max_tokens_per_hour: max })
    await used(world, { id: 's-1', account: 'a' }, [[1, { output_tokens: 50_000 }]])
    assert.equal((await world.book.windows('a'))[0]?.utilization, share)
  }
})

test('quota.gate_on_estimate lets the estimate hold work back; without it a full hour only warns', async t => {
  for (const [told, level] of [
    [false, 'unknown'],
    [true, 'critical'],
  ] as const) {
    const world = await aBook(t, { gate_on_estimate: told })
    await used(world, { id: 's-1', account: 'a' }, [[1, { output_tokens: 99_000 }]])
    const quota = await world.book.of('a')
    assert.deepEqual([quota.level, quota.warns], [level, 'critical'])
  }
})

test('quota.token_limit makes ccusage be asked, and is what its tokens are a share of', async t => {
  const { program, world } = await withCcusage(t, 'printed', { token_limit: 4000 })
  const { windows, level, notes } = await world.book.of('a')
  assert.deepEqual(
    windows.map(({ window, utilization, source }) => [window, utilization, source]),
    [['five_hour', 0.5, 'ccusage']],
  )
  assert.deepEqual([level, notes], ['notice', []])
  const unset = await withCcusage(t, 'printed', {})
  assert.deepEqual((await unset.world.book.of('a')).notes, ['ccusage is not asked: quota.token_limit is not set'])
  assert.notEqual(program, unset.program)
})

test('quota.ccusage names the program; one that fails is told, and the estimate takes its place', async t => {
  const { program, world } = await withCcusage(t, 'garbage', { token_limit: 4000 })
  const garbage = await world.book.of('a')
  assert.deepEqual(garbage.notes, [`${program} printed something that is not its report`])
  assert.equal(garbage.windows[0]?.source, 'estimate')
  world.settings.ccusage = 'ccusage-that-nobody-has'
  assert.deepEqual((await world.book.of('a')).notes, ['ccusage-that-nobody-has is not installed'])
})

test('what ccusage says gives way to the vendor’s own word', async t => {
  const { world } = await withCcusage(t, 'printed', { token_limit: 4000 })
  await world.book.seen('a', [fiveHours(0.9)])
  assert.deepEqual(
    (await world.book.windows('a')).map(({ source }) => source),
    ['vendor'],
  )
})

async function withCcusage(
  t: TestContext,
  said: 'printed' | 'garbage',
  settings: { token_limit?: number },
): Promise<{ program: string; world: ABook }> {
  const dir = tempDir(t)
  const program = join(dir, 'ccusage')
  const endTime = new Date(NOW + HOUR).toISOString()
  const report = JSON.stringify({ blocks: [{ isActive: true, isGap: false, endTime, totalTokens: 2000 }] })
  writeFileSync(program, `#!/bin/sh\nprintf '%s' '${said === 'printed' ? report : 'garbage'}'\n`)
  chmodSync(program, 0o755)
  const world = await aBook(t, { ccusage: program, ...settings })
  await world.book.rememberAgent('a', { agent: 'claude', env: bareEnv(dir) })
  return { program, world }
}
