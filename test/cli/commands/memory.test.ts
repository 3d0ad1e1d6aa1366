import assert from 'node:assert/strict'
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { newRecord } from '../../../src/domain/memory.ts'
import { openMemory } from '../../../src/memory/broker.ts'
import { pccFor } from '../pcc.ts'

test('a person tells memory something, finds it, takes it along and forgets it for good', async t => {
  const pcc = pccFor(t)
  const project = join(pcc.home, 'project')
  mkdirSync(project)
  const run = async (...args: string[]) => {
    const outcome = await pcc.run(['memory', ...args], { cwd: project })
    return { ...outcome, json: () => JSON.parse(outcome.stdout) }
  }
  const { id: record } = (await run('remember', 'Migrations run with the marzipan tool', '--json')).json()
  const [{ item }] = (await run('search', 'how do I run a migration', '--json')).json().items
  assert.equal(item.text, 'Migrations run with the marzipan tool')
  assert.match((await run('show', item.id)).stdout, new RegExp(`It rests on:\\n  ${record} .* fact, .*person`))
  const file = join(pcc.home, 'memory.jsonl')
  assert.match((await run('export', file)).stdout, /1 record/)
  const before = readFileSync(file, 'utf8')
  assert.match((await run('export', file)).stderr, /^error: The file cannot be used \(EEXIST/)
  assert.equal(readFileSync(file, 'utf8'), before)
  assert.match((await run('import', join(pcc.home, 'none'))).stderr, /^error: The file cannot be used \(ENOENT/)
  assert.equal((await run('forget', item.id, '--yes')).code, 0)
  assert.equal((await run('forget', item.id, '--yes')).code, 2, 'it is not there any more')
  assert.match((await run('import', file)).stdout, /Stored: 0 records; 1 were known or forgotten/)
  assert.match((await run('search', 'marzipan')).stdout, /Nothing is known/)
  appendFileSync(join(pcc.home, 'pcc', 'memory', 'log', 'global.000001.jsonl'), 'nonsense\n')
  const doctor = await run('doctor')
  assert.equal(doctor.code, 1)
  assert.match(doctor.stdout, /Damaged: global\.000001\.jsonl, byte 0: it is cut short or damaged/)
  assert.match((await run('rebuild')).stdout, /Derived anew/)
  assert.match((await run('policy')).stdout, /Nothing was ever changed/)
  assert.match((await run('policy', '--revert', '3')).stderr, /There is no version 3 here/)
  assert.match((await run('report')).stdout, /^Lift: not enough data \(0 tasks with recall/)
})

test('a person binds a fact to files, sees that they have changed, and confirms it', async t => {
  const pcc = pccFor(t)
  const project = join(pcc.home, 'project')
  mkdirSync(project)
  writeFileSync(join(project, 'cart.ts'), 'one')
  const run = async (...args: string[]) => pcc.run(['memory', ...args], { cwd: project })
  const told = await run('remember', 'The cart rounds prices down', '--file', 'cart.ts')
  assert.match(told.stdout, /It counts until one of these changes: cart\.ts/)
  assert.equal((await run('remember', 'x', '--file', '../none')).code, 2)
  writeFileSync(join(project, 'cart.ts'), 'two')
  const search = await run('search', 'cart')
  assert.match(search.stdout, /Nothing is known/)
  assert.match(search.stderr, /1 fact about changed files left out/)
  const [{ item }] = JSON.parse((await run('search', '--stale', '--json')).stdout).items
  assert.equal(item.ended_by, 'stale')
  assert.match((await run('report')).stdout, /^Stale: 1 about/m)
  assert.equal((await run('confirm', item.id)).code, 0)
  assert.match((await run('search', 'cart')).stdout, /rounds prices down/)
})

test('a person says when something is meant, for whom, and hears what is wrong with a pattern', async t => {
  const pcc = pccFor(t)
  const project = join(pcc.home, 'project')
  mkdirSync(project)
  const run = async (...args: string[]) => pcc.run(['memory', ...args], { cwd: project })
  const told = await run('remember', 'Start the database first', '--when', 'integration', '--role', 'Section Leader')
  assert.match(told.stdout, /It is told where a line matches \*integration\*/)
  const [{ item }] = JSON.parse((await run('search', '--kind', 'procedure', '--all', '--json')).stdout).items
  assert.deepEqual(item.acl.roles, ['section-leader'])
  assert.match((await run('show', item.id)).stdout, /when: glob \*integration\*\nthen: Start the database first/)
  const { stderr, code } = await run('remember', 'x', '--when-regex', '(a+)+b')
  assert.equal(code, 2)
  assert.match(stderr, /The pattern \(a\+\)\+b cannot be used: it repeats a group/)
  assert.match((await run('remember', 'x', '--when', '**')).stderr, /it matches everything/)
  assert.match((await run('remember', 'x', '--when', 'a', '--about', 'b')).stderr, /leave --about and --file out/)
  assert.match((await run('remember', 'x', '--role', '../..')).stderr, /It must be a name/)
})

test('thresholds are shown for all and where a role differs, and a change of a role is taken back for it alone', async t => {
  const pcc = pccFor(t)
  const run = async (...args: string[]) => (await pcc.run(['memory', 'policy', ...args], { cwd: pcc.home })).stdout
  {
    using broker = openMemory({ memory: join(pcc.home, 'pcc', 'memory') })
    const change = (version: number, role: string | null, after: number) =>
      newRecord({
        ...{ kind: 'policy', time: version, scope: 'global', of: '', actor: 'daemon', authority: 'gate', role },
        ...{ version, name: 'recall.threshold', before: 0.2, after, reason: 'none was of use' },
      })
    broker.write([change(1, 'conductor', 0.25), change(2, 'musician', 0.2)])
  }
  const shown = await run()
  assert.match(shown, /^recall\.threshold +0\.2$/m)
  assert.match(shown, /^recall\.threshold +0\.25 \(usually 0\.2\) for the role conductor$/m)
  assert.match(shown, /1 {2}recall\.threshold 0\.2 → 0\.25 for the role conductor: none was of use$/m)
  assert.match(await run('--role', 'Conductor'), /^recall\.threshold +0\.25/m)
  assert.match(
    await run('--revert', '1'),
    /3 {2}recall\.threshold 0\.25 → 0\.2 for the role conductor: version 1 taken/,
  )
  assert.match(await run('--role', 'conductor'), /^recall\.threshold +0\.2 for the role conductor$/m)
})

test('inside of a session nobody forgets, imports, or reads what other projects have learned', async t => {
  const pcc = pccFor(t)
  const calls = [
    ['forget', 'm-123456'],
    ['import', 'x'],
    ['export'],
    ['remember', 'x'],
    ['confirm', 'x'],
    ['policy', '--revert', '1'],
    ['search', '--all'],
    ['search', '--project', '/'],
  ]
  const outcomes = await Promise.all(
    calls.map(args => pcc.run(['memory', ...args], { env: { PCC_SESSION_MARK: 'x' } })),
  )
  assert.deepEqual(
    outcomes.map(({ code }) => code),
    calls.map(() => 3),
  )
})
