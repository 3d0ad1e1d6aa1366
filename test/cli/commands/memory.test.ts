import assert from 'node:assert/strict'
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
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
