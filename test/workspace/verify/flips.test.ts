import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultValues, nestValues, type Values } from '../../../src/domain/config/settings.ts'
import { readGateSettings } from '../../../src/workspace/verify/gate-settings.ts'
import { verify } from '../../../src/workspace/verify/verify.ts'
import { openVerifyFixture } from './worktree-fixture.ts'

/** The gate settings with some settings changed. */
function gates(changed: Partial<Values>) {
  return readGateSettings(nestValues({ ...defaultValues(), ...changed }))
}

test('gates.build, gates.typecheck, gates.lint and gates.test are run in this order', async t => {
  const work = await openVerifyFixture(t)
  const commands = { 'gates.test': 'true', 'gates.lint': 'true', 'gates.typecheck': 'true', 'gates.build': 'true' }
  const { checks } = await verify(work.request({ gates: gates(commands) }), work.deps())
  const ran = checks.filter(({ kind }) => kind === 'command').map(({ gate }) => gate)
  assert.deepEqual(ran, ['build', 'typecheck', 'lint', 'test'])
})

test('gates.profile says which of them are run', async t => {
  const work = await openVerifyFixture(t)
  const commands = { 'gates.test': 'true', 'gates.lint': 'true', 'gates.typecheck': 'true', 'gates.build': 'true' }
  const quick = gates({ ...commands, 'gates.profile': 'quick' })
  const { checks } = await verify(work.request({ gates: quick }), work.deps())
  const ran = checks.filter(({ kind }) => kind === 'command').map(({ gate }) => gate)
  assert.deepEqual(ran, ['typecheck', 'test'])
})

test('gates.timeout_seconds ends a command', async t => {
  const work = await openVerifyFixture(t)
  work.write('b.txt', 'b\n')
  const short = gates({ 'gates.test': 'sleep 600', 'gates.timeout_seconds': 1 })
  const { findings } = await verify(work.request({ gates: short }), work.deps())
  assert.deepEqual(
    findings.map(({ code }) => code),
    ['test.timed_out'],
  )
})

test('gates.env lets a variable through', async t => {
  const work = await openVerifyFixture(t)
  const env = { PATH: process.env['PATH'], SHOP: 'open' }
  const seen = async (named: string[]) => {
    const settings = gates({ 'gates.test': 'echo "[$SHOP]"', 'gates.env': named })
    const { checks } = await verify(work.request({ gates: settings }), work.deps({ env }))
    return checks.find(({ gate }) => gate === 'test')?.output
  }
  assert.equal(await seen([]), '[]\n')
  // A variable that a person passes by name may be a secret, and is removed from the stored output.
  assert.equal(await seen(['SHOP']), '[open]\n')
})
