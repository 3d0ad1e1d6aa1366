import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import type { NewEvent } from '../../../src/domain/event.ts'
import { type Pcc, pccFor } from '../pcc.ts'
import { seed } from '../seeded.ts'

interface Recorded {
  command: string
  verdict: 'allow' | 'deny'
  by: string
  daysAgo?: number
}

const HOUR_MS = 3_600_000

function recordedEvents({ command, verdict, by, daysAgo = 1 }: Recorded, index: number): NewEvent[] {
  const call = { call_id: `c${index}`, tool: 'Bash', target: command }
  const about = { actor: 'agent', subject: 's-aaaaaa', time: Date.now() - daysAgo * 24 * HOUR_MS + index }
  const decided = { ...call, verdict, risk: 'MEDIUM' as const, reason: 'x', confidence: 1, by, latency_ms: 1 }
  return [
    { ...about, kind: 'tool.requested', body: { ...call, input: { command } } },
    { ...about, kind: 'permission.decided', body: decided },
  ]
}

async function seedRequests(t: TestContext, requests: Recorded[]): Promise<Pcc> {
  const pcc = pccFor(t)
  await seed(
    pcc,
    [{ options: { project: '/x', task: 'x', allowed_tools: ['Bash(terraform plan)'] } }],
    requests.flatMap(recordedEvents),
  )
  return pcc
}

interface Replayed {
  requests: number
  changed: number
  changes: { target: string; was: string; now: string; why: string }[]
}

async function replay(pcc: Pcc, ...args: string[]): Promise<Replayed> {
  const { code, stdout, stderr } = await pcc.run(['rules', 'test', '--replay', '--json', ...args])
  assert.equal(code, 0, stderr)
  return JSON.parse(stdout) as Replayed
}

const HISTORY: Recorded[] = [
  { command: 'ls', verdict: 'allow', by: 'policy' },
  { command: 'npm test', verdict: 'allow', by: 'brain' },
  { command: 'rm -rf x', verdict: 'deny', by: 'policy' },
  { command: 'rm -rf y', verdict: 'allow', by: 'human' },
  { command: 'terraform plan', verdict: 'allow', by: 'rule' },
  { command: 'ssh host uptime', verdict: 'deny', by: 'nobody' },
  { command: 'docker compose up', verdict: 'allow', by: 'precedent' },
  { command: 'npm run old', verdict: 'deny', by: 'rule', daysAgo: 30 },
]

test('under the same rules nothing changes: a person who was asked would be asked again', async t => {
  const pcc = await seedRequests(t, HISTORY)
  const { requests, changed, changes } = await replay(pcc)
  assert.deepEqual([requests, changed, changes], [7, 0, []])
  const { stdout } = await pcc.run(['rules', 'test', '--replay'])
  assert.equal(stdout, '7 requests of the last 7 days decided again: nothing would change.\n')
  assert.deepEqual(
    (await replay(pcc, '--since', '60d')).changes.map(({ target, was, now }) => [target, was, now]),
    [['npm run old', 'deny', 'allow']],
  )
})

test('without rules then and now nothing changes, whatever was decided by whom', async t => {
  const commands = [
    'ls',
    'rm -rf x',
    'git push',
    'cd ../x && git status',
    'npx foo',
    'cat .env',
    'git checkout main',
    'echo $X',
  ]
  const deciders = ['policy', 'brain', 'human', 'nobody', 'precedent'] as const
  const history = commands.flatMap(command =>
    deciders.flatMap(by => (['allow', 'deny'] as const).map(verdict => ({ command, verdict, by }))),
  )
  const { requests, changes } = await replay(await seedRequests(t, history))
  assert.deepEqual([requests, changes], [history.length, []])
})

test('changed rules show what would be decided differently and by which rule; nothing is run or written', async t => {
  const pcc = await seedRequests(t, HISTORY)
  const database = join(pcc.home, 'pcc/data/perpetualcc.db')
  const hash = () => createHash('sha256').update(readFileSync(database)).digest('hex')
  const before = hash()
  await pcc.run(['rules', 'add', 'deny', 'Bash', 'npm *'])
  await pcc.run(['rules', 'add', 'allow', 'Bash', 'rm -rf y'])
  await pcc.run(['rules', 'add', 'ask', 'Bash', 'ls'])
  const { changed, changes } = await replay(pcc)
  assert.equal(changed, 3)
  assert.deepEqual(
    changes.map(({ target, was, now, why }) => [target, was, now, why]),
    [
      ['ls', 'allow', 'ask', 'ask Bash ls'],
      ['npm test', 'allow', 'deny', 'deny Bash npm *'],
      ['rm -rf y', 'ask', 'allow', 'allow Bash rm -rf y'],
    ],
  )
  const { stdout } = await pcc.run(['rules', 'test', '--replay'])
  assert.match(stdout, /s-aaaaaa {2}Bash npm test +allow → deny +deny Bash npm \*\n/)
  assert.match(
    stdout,
    /7 requests of the last 7 days decided again: 3 would be decided differently\. Nothing was run\.\n$/,
  )
  assert.equal(hash(), before)
})

test('a change of rules can be tried with another file', async t => {
  const pcc = await seedRequests(t, HISTORY)
  const trial = join(pcc.home, 'trial.toml')
  writeFileSync(trial, '[[rules]]\neffect = "deny"\ntool = "Bash"\nmatch = "terraform *"\n')
  const { changes } = await replay(pcc, '--rules', trial)
  assert.deepEqual(
    changes.map(({ target, was, now }) => [target, was, now]),
    [['terraform plan', 'allow', 'deny']],
  )
})

test('a --rules file that is missing or invalid is refused', async t => {
  const pcc = await seedRequests(t, HISTORY)
  writeFileSync(join(pcc.home, 'broken.toml'), 'this is = = no TOML')
  for (const [file, words] of [
    ['nowhere.toml', /^error: --rules: .*nowhere\.toml:1: it does not exist\n {2}next: See: pcc rules test --help\n$/],
    ['broken.toml', /^error: --rules: .*broken\.toml:1: /],
  ] as const) {
    for (const what of ['--replay', 'ls']) {
      const { code, stdout, stderr } = await pcc.run(['rules', 'test', what, '--rules', file])
      assert.deepEqual([code, stdout], [2, ''], `${what} ${file}`)
      assert.match(stderr, words)
    }
  }
})

test('without a store there is nothing to replay', async t => {
  const pcc = pccFor(t)
  const { code, stdout } = await pcc.run(['rules', 'test', '--replay', '--since', '12h'])
  assert.deepEqual([code, stdout], [0, 'No request was recorded in the last 12h 0m.\n'])
})

test('damaged rows and decisions without a request are skipped; a newer store is not touched', async t => {
  const pcc = await seedRequests(t, HISTORY)
  using database = new DatabaseSync(join(pcc.home, 'pcc/data/perpetualcc.db'))
  const insert = database.prepare(
    `insert into events (time, actor, schema_version, subject, kind, body) values (?, 'agent', 1, 's-aaaaaa', ?, ?)`,
  )
  insert.run(Date.now(), 'tool.requested', '{')
  insert.run(Date.now(), 'permission.decided', '{')
  insert.run(Date.now(), 'permission.decided', '{"call_id":"unheard-of"}')
  assert.deepEqual([(await replay(pcc)).requests, (await replay(pcc)).changed], [7, 0])
  database.exec('pragma user_version = 999')
  const { code, stderr } = await pcc.run(['rules', 'test', '--replay'])
  assert.equal(code, 5)
  assert.match(stderr, /written by a newer pcc \(schema 999/)
})
