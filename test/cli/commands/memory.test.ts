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
  assert.match((await run('remember', ' ')).stderr, /^error: There is nothing to remember/)
  await run('remember', 'Migrations run by hand', '--about', 'migrations')
  const told = await run('remember', 'Migrations run with the marzipan tool', '--about', 'Migrations')
  const record = told.stdout.match(/m-\S+/)?.[0]
  assert.match(told.stdout, /\nIt holds instead of: Migrations run by hand\n/)
  const [{ item }] = (await run('search', 'how do I run a migration', '--json')).json().items
  assert.equal(item.text, 'Migrations run with the marzipan tool')
  const shown = (await run('show', item.id)).stdout
  assert.match(
    shown,
    /\nby person; said 1 time, denied 0 times.*\nbefore, by person, from .*: Migrations run by hand\n/,
  )
  assert.match(shown, new RegExp(`It rests on:\\n  ${record} .* fact, .*person`))
  assert.match(
    (await run('show', record ?? '')).stdout,
    / fact, .*person.*\n {6}Migrations run with the marzipan tool\n/,
  )
  const file = join(pcc.home, 'memory.jsonl')
  assert.match((await run('export', file)).stdout, /2 records/)
  const before = readFileSync(file, 'utf8')
  assert.match((await run('export', file)).stderr, /^error: The file cannot be used: EEXIST/)
  assert.equal(readFileSync(file, 'utf8'), before)
  assert.match(
    (await run('import', join(pcc.home, 'none'))).stderr,
    /^error: The file cannot be used: .*none does not exist/,
  )
  assert.equal((await run('forget', item.id, '--yes')).code, 0)
  assert.equal((await run('forget', item.id, '--yes')).code, 2, 'it is not there any more')
  assert.match((await run('import', file)).stdout, /Stored: 0 records; 2 were known or forgotten/)
  assert.match((await run('search', 'marzipan')).stdout, /^Nothing fits/)
  assert.equal((await run('search')).stdout, 'Nothing is known here yet.\n')
  appendFileSync(join(pcc.home, 'pcc', 'memory', 'log', 'global.000001.jsonl'), 'nonsense\n')
  const doctor = await run('doctor')
  assert.equal(doctor.code, 1)
  assert.match(doctor.stdout, /Damaged: global\.000001\.jsonl, byte 0: it is cut short or damaged/)
  assert.match((await run('rebuild')).stdout, /Derived anew/)
  assert.match((await run('policy')).stdout, /Nothing was ever changed/)
  assert.match((await run('policy', '--revert', '3')).stderr, /There is no version 3 here/)
  assert.match((await run('report')).stdout, /^Lift: not enough data \(0 tasks with recall/)
  writeHundredResults(join(pcc.home, 'pcc', 'memory'))
  const report = (await run('report')).stdout
  assert.match(
    report,
    /^Lift \(50 tasks with recall, 50 without; 95 % intervals\)\n {2}success +\+40 points \(\+2\d .* to/,
  )
  assert.match(
    report,
    /\n {2}retries +−0\.40 \(−0\.\d+ to −0\.\d+\): better\n {2}corrections +0\.00 .*: no clear difference/,
  )
})

/** How a hundred tasks ended: with recall all of them well, without it three of five at once. */
function writeHundredResults(memory: string): void {
  using broker = openMemory({ memory })
  broker.write(
    Array.from({ length: 100 }, (_, at) => {
      const isWell = at % 2 === 0 || at % 10 < 6
      return newRecord({
        ...{ kind: 'result', time: Date.now(), scope: 'project', of: 'git-a', actor: 'daemon', authority: 'gate' },
        ...{ task: `t-${at}`, arm: at % 2 === 0 ? 'with' : 'without', outcome: isWell ? 'success' : 'failure' },
        ...{ retries: isWell ? 0 : 1, corrections: at % 4 < 2 ? 0 : 1, tool_calls: 5, cost_usd: 0.1 },
      })
    }),
  )
}

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
  assert.match(search.stdout, /^Nothing fits/)
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
