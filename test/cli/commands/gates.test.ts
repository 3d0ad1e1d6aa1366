import assert from 'node:assert/strict'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { sessionMarker } from '../../../src/base/process/marker.ts'
import { projectOf } from '../../workspace/detect/project-of.ts'
import { pccFor } from '../pcc.ts'

const PACKAGE = JSON.stringify({ scripts: { test: 'node --test', lint: 'eslint . --fix', build: 'echo built' } })

test('pcc gates detect shows what was found, and --write puts it into the project’s file and nothing else', async t => {
  const pcc = pccFor(t)
  const project = projectOf(t, { 'package.json': PACKAGE, '.perpetualcc.toml': '# mine\nversion = 1\n' })
  const shown = await pcc.run(['gates', 'detect'], { cwd: project })
  assert.equal(shown.code, 0, shown.stderr)
  assert.match(shown.stdout, /build +npm run build +proposed; package\.json: scripts\.build/)
  assert.match(shown.stdout, /lint .*left out.*\n +careful: it changes files/)
  assert.match(shown.stdout, /Write them with: pcc gates detect --write/)
  const written = await pcc.run(['gates', 'detect', '--write'], { cwd: project })
  assert.match(written.stdout, /agree to them with: pcc trust/)
  const text = readFileSync(join(project, '.perpetualcc.toml'), 'utf8')
  assert.match(text, /^# mine\n/)
  assert.match(text, /\[gates\]\nbuild = "npm run build"\ntest = "npm test"\n/)
  assert.doesNotMatch(text, /lint/)
  const again = await pcc.run(['gates', 'detect', '--write'], { cwd: project })
  assert.match(again.stdout, /set already/)
  assert.match(
    again.stdout,
    /Nothing to write: the rest is set already, and 1 is left out|Nothing to write: all of them are set already/,
  )
  assert.equal(readFileSync(join(project, '.perpetualcc.toml'), 'utf8'), text)
})

test('a file that was not there is made, for everybody to read', async t => {
  const pcc = pccFor(t)
  const project = projectOf(t, { 'package.json': PACKAGE })
  await pcc.run(['gates', 'detect', '--write', '--json'], { cwd: project })
  const file = join(project, '.perpetualcc.toml')
  assert.match(readFileSync(file, 'utf8'), /^version = 1\n/)
  assert.equal(statSync(file).mode & 0o777, 0o644)
})

test('an agent cannot have them written', async t => {
  const pcc = pccFor(t)
  const project = projectOf(t, { 'package.json': PACKAGE })
  const refused = await pcc.run(['gates', 'detect', '--write'], {
    cwd: project,
    env: { [sessionMarker('').name]: 'x' },
  })
  assert.notEqual(refused.code, 0)
  assert.throws(() => statSync(join(project, '.perpetualcc.toml')), /ENOENT/)
})

test('commands of a project’s file are run in the sandbox, after pcc trust and not before', async t => {
  const pcc = pccFor(t)
  writeFileSync(join(pcc.home, 'mine'), '')
  const project = projectOf(t, {
    '.perpetualcc.toml': `version = 1\n[gates]\nbuild = "echo built"\ntest = 'printf "\\033]0;x\\007"; test -e ${pcc.home}/mine || exit 4'\n`,
  })
  const before = await pcc.run(['gates', 'run'], { cwd: project })
  assert.equal(before.code, 3, before.stdout)
  assert.match(before.stderr, /has no gate, so there is nothing to run/)
  const waiting = await pcc.run(['gates'], { cwd: project })
  assert.match(waiting.stdout, /build +echo built +needs your agreement: pcc trust/)
  await pcc.run(['trust', '--yes'], { cwd: project })
  const after = await pcc.run(['gates', 'run'], { cwd: project })
  assert.equal(after.code, 1)
  assert.match(after.stdout, /✓ build +passed {2}echo built/)
  assert.match(after.stdout, /✗ test +failed {2}printf \S+ test -e \S+ \|\| exit 4 {2}exit 4 {2}whole command only/)
  assert.ok(after.stdout.includes('␛]0;x␇') && !after.stdout.includes('\x1b]'), 'what it prints changes no terminal')
  const one = await pcc.run(['gates', 'run', '.', '--only', 'build', '--json'], { cwd: project })
  assert.equal(one.code, 0)
  const { checks } = JSON.parse(one.stdout)
  assert.deepEqual(
    checks.map(({ gate, status, output }: Record<string, string>) => [gate, status, output]),
    [['build', 'passed', 'built\n']],
  )
})

test('the gates of a project are listed with where they come from', async t => {
  const pcc = pccFor(t)
  const project = projectOf(t, { 'a.txt': '' })
  const none = await pcc.run(['gates', 'list'], { cwd: project })
  assert.match(none.stdout, /nothing proves that a task is done/)
  const env = { PCC_GATES_TEST: 'make check', PCC_GATES_PROFILE: 'quick' }
  const listed = JSON.parse((await pcc.run(['gates', 'list', '--json'], { cwd: project, env })).stdout)
  assert.equal(listed.profile, 'quick')
  assert.deepEqual(
    listed.gates.find(({ gate }: { gate: string }) => gate === 'test'),
    { gate: 'test', command: 'make check', waits_for_trust: null, in_profile: true, origin: 'PCC_GATES_TEST' },
  )
})

test('for a task the gates of its project are listed, with their results for it', async t => {
  const pcc = pccFor(t)
  const project = projectOf(t, { 'a.txt': '' })
  writeFileSync(join(project, '.perpetualcc.toml'), 'version = 1\n')
  const made = JSON.parse((await pcc.run(['task', 'add', 'Do it', '--json'], { cwd: project })).stdout)
  const id = made.task?.id ?? made.id
  const listed = await pcc.run(['gates', 'list', id], { cwd: '/' })
  assert.equal(listed.code, 0, listed.stderr)
  assert.match(listed.stdout, new RegExp(`${id} Do it\n +No gate has checked it yet`))
})
