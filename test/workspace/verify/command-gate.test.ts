import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { findFailedBefore } from '../../../src/domain/evidence.ts'
import { verify } from '../../../src/workspace/verify/verify.ts'
import { openVerifyFixture } from './worktree-fixture.ts'

const HEAD = `import { test } from 'node:test'\nimport { existsSync, writeFileSync } from 'node:fs'\n`
const passes = (name: string) => `test('${name}', () => {})\n`
const fails = (name: string) => `test('${name}', () => { throw new Error('no') })\n`
/** Fails the first time that it runs, in any folder. */
const flaky = (name: string, mark: string) =>
  `test('${name}', () => { if (!existsSync('${mark}')) { writeFileSync('${mark}', ''); throw new Error('once') } })\n`

const COMMANDS = { test: 'node --test' }

test('every test of node --test stands in the evidence', async t => {
  const work = await openVerifyFixture(t, { 'a.test.mjs': HEAD + passes('opens') + passes('closes') })
  const { checks } = await verify(work.request({}, { commands: COMMANDS }), work.deps())
  assert.deepEqual(checks.find(({ gate }) => gate === 'test')?.tests, [
    { name: 'opens', status: 'passed' },
    { name: 'closes', status: 'passed' },
  ])
})

test('a test that fails and passes alone is flaky: it counts as passed, is told, and is not kept as green', async t => {
  const work = await openVerifyFixture(t)
  const mark = join(dirname(work.worktree.top), 'mark')
  work.write('a.test.mjs', HEAD + passes('opens') + flaky('closes late', mark))
  const { status, isProven, checks } = await verify(work.request({}, { commands: COMMANDS }), work.deps())
  const row = checks.find(({ gate }) => gate === 'test')
  assert.deepEqual([status, isProven, row?.status, row?.exit], ['passed', true, 'flaky', 1])
  assert.deepEqual(row?.findings, [
    { code: 'test.flaky', weight: 'note', text: 'Failed, and passed when it ran alone: closes late' },
  ])
  assert.deepEqual(
    row?.tests?.map(each => each.status),
    ['passed', 'flaky'],
  )
  const again = await verify(work.request({ round: 2 }, { commands: COMMANDS }), work.deps())
  assert.equal(again.checks.find(({ gate }) => gate === 'test')?.cached, false)
})

test('a test that passes alone only after its first run has left a file in the worktree has failed', async t => {
  const work = await openVerifyFixture(t)
  work.write('a.test.mjs', HEAD + passes('opens') + flaky('closes late', join(work.worktree.top, 'table.json')))
  const { status, findings } = await verify(work.request({}, { commands: COMMANDS }), work.deps())
  assert.equal(status, 'failed')
  const texts = findings.filter(({ weight }) => weight === 'block').map(({ text }) => text)
  assert.match(texts.join('\n'), /passed alone, but the run in which they failed had left files behind: table\.json/)
})

test('a test that fails alone too has failed, beside one that is flaky', async t => {
  const work = await openVerifyFixture(t)
  const mark = join(dirname(work.worktree.top), 'mark')
  work.write('a.test.mjs', HEAD + fails('opens') + flaky('closes late', mark))
  const { status, checks } = await verify(work.request({}, { commands: COMMANDS }), work.deps())
  assert.equal(status, 'failed')
  assert.deepEqual(checks.find(({ gate }) => gate === 'test')?.tests, [
    { name: 'opens', status: 'failed' },
    { name: 'closes late', status: 'flaky' },
  ])
})

test('a test that passed where the work began must pass', async t => {
  const work = await openVerifyFixture(t, { 'a.test.mjs': HEAD + passes('opens') + passes('closes') })
  work.write('a.test.mjs', HEAD + passes('opens') + fails('closes'))
  const { status, findings } = await verify(work.request({}, { commands: COMMANDS }), work.deps())
  assert.equal(status, 'failed')
  const text = 'This test passed before the work and fails now: closes'
  assert.deepEqual(
    findings.filter(({ code }) => code.startsWith('regression.')),
    [{ code: 'regression.broken', weight: 'block', text }],
  )
})

test('a test that failed where the work began stands in the way: the work may have been to mend it', async t => {
  const work = await openVerifyFixture(t, { 'a.test.mjs': HEAD + fails('old trouble') })
  const { status, checks, next_steps } = await verify(work.request({}, { commands: COMMANDS }), work.deps())
  assert.equal(status, 'failed')
  assert.equal(checks.find(({ gate }) => gate === 'test')?.status, 'failed')
  assert.match(next_steps.join('\n'), /old trouble \(it failed before the work began, too\)/)
  assert.equal(findFailedBefore(checks)?.text, 'Only tests fail that failed before the work, too: old trouble')
})

test('gates.known_failures lets a test that failed where the work began pass, and tells of it', async t => {
  const work = await openVerifyFixture(t, { 'a.test.mjs': HEAD + fails('old trouble') })
  work.write('b.test.mjs', HEAD + passes('new thing'))
  const allowed = { commands: COMMANDS, knownFailures: 'allow' } as const
  const { status, checks } = await verify(work.request({}, allowed), work.deps())
  assert.equal(status, 'passed')
  const row = checks.find(({ gate }) => gate === 'test')
  assert.deepEqual([row?.status, row?.exit], ['passed', 1])
  assert.deepEqual(
    row?.findings.map(({ code }) => code),
    ['test.failed_before'],
  )
})

test('one that fails beside old trouble is not excused by it', async t => {
  const work = await openVerifyFixture(t, { 'a.test.mjs': HEAD + fails('old trouble') })
  work.write('b.test.mjs', HEAD + fails('new trouble'))
  const allowed = { commands: COMMANDS, knownFailures: 'allow' } as const
  const { status } = await verify(work.request({}, allowed), work.deps())
  assert.equal(status, 'failed')
  const blocked = await verify(work.request({ round: 2 }, { commands: COMMANDS }), work.deps())
  assert.equal(findFailedBefore(blocked.checks), undefined)
})

test('a test that is gone stands in the way, and one with another name is only told', async t => {
  const files = { 'a.test.mjs': HEAD + passes('opens') + passes('closes') }
  const allow = ['test.deleted', 'test.emptied', 'test.cases-removed']
  const diff = { maxChangedLines: 0, forbiddenPaths: [], allow }
  const gone = await openVerifyFixture(t, files)
  gone.write('a.test.mjs', HEAD + passes('opens'))
  const one = await verify(gone.request({}, { commands: COMMANDS, diff }), gone.deps())
  assert.deepEqual(
    one.findings.filter(({ code }) => code === 'regression.gone').map(({ weight }) => weight),
    ['block'],
  )
  const renamed = await openVerifyFixture(t, files)
  renamed.write('a.test.mjs', HEAD + passes('opens') + passes('shuts'))
  const two = await verify(renamed.request({}, { commands: COMMANDS, diff }), renamed.deps())
  assert.deepEqual(
    two.findings.filter(({ code }) => code === 'regression.gone').map(({ weight }) => weight),
    ['note'],
  )
  assert.equal(two.status, 'passed')
})

test('the base is run once, in a checkout of its own that is gone afterwards, with the dependencies of the work', async t => {
  const run = `echo ran >>"$HOME/runs"; node --test`
  const uses = `import '#thing'\n`
  const work = await openVerifyFixture(t, {
    '.gitignore': 'node_modules/\n',
    'package.json': '{"imports":{"#thing":"thing"}}',
    'a.test.mjs': uses + HEAD + passes('opens'),
  })
  work.write('node_modules/thing/index.js', '')
  work.write('b.txt', 'b\n')
  const first = await verify(work.request({}, { commands: { test: run } }), work.deps())
  const regression = first.checks.find(({ kind }) => kind === 'regression')
  assert.deepEqual([first.status, regression?.status, regression?.cached], ['passed', 'passed', false])
  work.write('b.txt', 'c\n')
  const second = await verify(work.request({ round: 2 }, { commands: { test: run } }), work.deps())
  assert.equal(second.checks.find(({ kind }) => kind === 'regression')?.cached, true)
  const home = join(dirname(work.worktree.top), 'home')
  const { readFileSync } = await import('node:fs')
  assert.equal(readFileSync(join(home, 'runs'), 'utf8'), 'ran\nran\nran\n')
  const bases = join(dirname(work.worktree.top), 'run', 'bases')
  assert.ok(!existsSync(bases) || readdirSync(bases).length === 0)
  assert.equal(work.git('worktree', 'list').split('\n').length, 2)
})

test('a tree that was verified is known when it becomes a base', async t => {
  const work = await openVerifyFixture(t, { 'a.test.mjs': HEAD + passes('opens') })
  const first = await verify(work.request({}, { commands: COMMANDS }), work.deps())
  const worktree = { ...work.worktree, base: first.commit ?? '' }
  work.write('b.txt', 'b\n')
  const second = await verify(work.request({ worktree, round: 2 }, { commands: COMMANDS }), work.deps())
  assert.equal(second.checks.find(({ kind }) => kind === 'regression')?.cached, true)
})

test('the quick profile compares only with a base that is known', async t => {
  const work = await openVerifyFixture(t, { 'a.test.mjs': HEAD + passes('opens') })
  work.write('b.txt', 'b\n')
  const quick = { commands: COMMANDS, profile: 'quick' as const }
  const { checks } = await verify(work.request({}, quick), work.deps())
  assert.equal(checks.find(({ kind }) => kind === 'regression')?.status, 'skipped')
})

test('a command that tells no single tests is compared as a whole, and the evidence says so', async t => {
  const work = await openVerifyFixture(t)
  const { checks } = await verify(work.request({}, { commands: { test: 'echo fine' } }), work.deps())
  assert.equal(checks.find(({ gate }) => gate === 'test')?.tests, null)
  assert.match(checks.find(({ kind }) => kind === 'regression')?.output ?? '', /^Only the whole command counts/)
})
