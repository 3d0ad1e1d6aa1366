import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { VerifierMaterial, VerifierOpinion } from '../../../src/domain/evidence.ts'
import { findGitFolder } from '../../../src/workspace/git/git-folder.ts'
import { judgeCriteria, parseCriteria } from '../../../src/workspace/verify/acceptance.ts'
import { type GateCheck, gateCheck } from '../../../src/workspace/verify/request.ts'
import { verify } from '../../../src/workspace/verify/verify.ts'
import { openVerifyFixture } from './worktree-fixture.ts'

const TASK = { id: 't-1', title: 'Shop', description: 'A shop.', attempt: 1 }

function opinion(more: Partial<VerifierOpinion> = {}): VerifierOpinion {
  return { status: 'passed', criteria: [], remarks: 'I looked.', model: 'm', cost_usd: 0, ...more }
}

/** A second agent with this opinion, and the material that it was given. */
function judging(said: VerifierOpinion) {
  const given: VerifierMaterial[] = []
  return {
    given,
    judge: async (material: VerifierMaterial) => {
      given.push(material)
      return said
    },
  }
}

test('a second agent is asked for what no command proves, and gets task, criteria, diff and results', async t => {
  const work = await openVerifyFixture(t)
  work.write('a.txt', 'changed\n')
  const common = (await findGitFolder(work.worktree.top))?.common ?? ''
  mkdirSync(join(common, 'info'), { recursive: true })
  writeFileSync(join(common, 'info/attributes'), '*.txt -diff\n') // it hides no text
  const { given, judge } = judging(opinion())
  const task = { ...TASK, acceptance: 'It is beautiful' }
  const result = await verify(work.request({ task }, { commands: { test: 'true' } }), work.deps({ judge }))
  assert.equal(given[0]?.base, work.worktree.base)
  assert.equal(given[0]?.head, result.commit)
  assert.match(given[0]?.diff ?? '', /\+changed/)
  assert.deepEqual(given[0]?.size, { files: 1, lines: 2 })
  assert.deepEqual(given[0]?.task.acceptance, ['It is beautiful'])
  assert.ok(given[0]?.checks.some(({ gate, status }) => gate === 'test' && status === 'passed'))
})

test('it is not asked where commands prove everything, nor where something failed already', async t => {
  const work = await openVerifyFixture(t)
  work.write('b.txt', 'b\n')
  const { given, judge } = judging(opinion())
  const task = { ...TASK, acceptance: 'All tests pass' }
  await verify(work.request({ task }, { commands: { test: 'true' } }), work.deps({ judge }))
  await verify(work.request({ round: 2 }, { commands: { test: 'false' }, verifier: 'on' }), work.deps({ judge }))
  assert.equal(given.length, 0)
})

test('gates.verifier asks it always, or never', async t => {
  const work = await openVerifyFixture(t)
  const { given, judge } = judging(opinion())
  await verify(work.request({}, { verifier: 'off' }), work.deps({ judge }))
  assert.equal(given.length, 0)
  await verify(work.request({}, { commands: { test: 'true' }, verifier: 'on' }), work.deps({ judge }))
  assert.equal(given.length, 1)
})

test('a criterion that it finds unmet keeps the task from being done, with its reason', async t => {
  const work = await openVerifyFixture(t)
  const criteria = [{ criterion: 'It is beautiful', met: false, reason: 'The door hangs.' }]
  const { judge } = judging(opinion({ status: 'failed', criteria }))
  const task = { ...TASK, acceptance: '- [ ] It is beautiful' }
  const result = await verify(work.request({ task }), work.deps({ judge }))
  assert.equal(result.status, 'failed')
  assert.ok(result.next_steps.some(step => step.includes('It is beautiful') && step.includes('The door hangs.')))
  assert.ok(result.findings.some(({ code }) => code === 'acceptance.unmet'))
})

test('its yes is a proof', async t => {
  const work = await openVerifyFixture(t)
  const criteria = [{ criterion: 'it is beautiful', met: true, reason: 'The door is straight.' }]
  const { judge } = judging(opinion({ criteria }))
  const task = { ...TASK, acceptance: 'It is beautiful.' }
  const result = await verify(work.request({ task }), work.deps({ judge }))
  assert.deepEqual([result.status, result.isProven], ['passed', true])
  assert.ok(result.findings.some(({ code, text }) => code === 'acceptance.met' && text.includes('straight')))
})

test('one that passes the whole and leaves a criterion unmet has not passed it', async t => {
  const work = await openVerifyFixture(t)
  const criteria = [{ criterion: 'It is beautiful', met: false, reason: 'No.' }]
  const { judge } = judging(opinion({ criteria }))
  const result = await verify(work.request({ task: { ...TASK, acceptance: 'It is beautiful' } }), work.deps({ judge }))
  assert.equal(result.status, 'failed')
})

test('the word of one that wrote into the tree does not count, and what it wrote is put back', async t => {
  const work = await openVerifyFixture(t)
  const judge = async () => {
    writeFileSync(join(work.worktree.top, 'a.txt'), 'made to fit\n')
    return opinion()
  }
  const result = await verify(work.request(), work.deps({ judge }))
  assert.equal(result.status, 'broken')
  assert.equal(work.git('status', '--porcelain'), '')
})

test('one that fails to answer is nobody’s success', async t => {
  const work = await openVerifyFixture(t)
  const judge = () => Promise.reject(new Error('no answer came'))
  const result = await verify(work.request(), work.deps({ judge }))
  assert.equal(result.status, 'broken')
  assert.ok(result.findings.some(({ text }) => text.includes('no answer came')))
})

const CHECKS: GateCheck[] = [
  gateCheck({
    ...{ gate: 'test', kind: 'command', status: 'passed', command: 'npm test', exit: 0 },
    tests: [
      { name: 'shop > the door opens at nine', status: 'passed' },
      { name: 'shop > the light goes out at night', status: 'failed' },
    ],
  }),
  gateCheck({ gate: 'lint', kind: 'command', status: 'failed', command: 'eslint .', exit: 1 }),
]

for (const [text, status, evidence] of [
  ['All tests pass', 'met', 'test: npm test (exit 0)'],
  ['`npm test` passes', 'met', 'test: npm test (exit 0)'],
  ['The linter passes.', 'unmet', 'lint: eslint . (exit 1)'],
  ['The shop door opens at nine', 'met', 'test: shop > the door opens at nine'],
  ['The light of the shop goes out at night', 'unmet', 'test: shop > the light goes out at night'],
  ['The build succeeds', 'unproven', ''],
  ['The window is clean', 'unproven', ''],
  ['Tests for the tax rules exist', 'unproven', ''],
] as const) {
  test(`the criterion "${text}" is ${status} by what was run`, () => {
    assert.deepEqual(judgeCriteria([text], CHECKS, []), [{ text, status, evidence }])
  })
}

test('criteria are lines, with or without marks of a list', () => {
  assert.deepEqual(parseCriteria('- one\n* [ ] two\n\n  three  \n- [x] four'), ['one', 'two', 'three', 'four'])
})
