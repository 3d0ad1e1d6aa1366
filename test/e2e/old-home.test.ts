import assert from 'node:assert/strict'
import { cpSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { appPathsFor } from '../../src/base/app-paths.ts'
import { accountOf } from '../../src/domain/account.ts'
import type { SessionView } from '../../src/domain/api.ts'
import type { TaskView } from '../../src/domain/task.ts'
import { openStore } from '../../src/store/open.ts'
import { tempDir } from '../support/world.ts'
import { agentWorld } from './agent-world.ts'

const HERE = join(import.meta.dirname, 'old-home')
const HOUR_MS = 3_600_000

const SCENARIO = `
conversations:
  - match: Choose a colour
    turns:
      - tools:
          - AskUserQuestion:
              questions: [{ question: Which colour?, header: Colour, multiSelect: false, options: [{ label: red, description: warm }, { label: blue, description: cold }] }]
      - text: "You said: {{last_tool_result}}"
`

/** The database as the version before this one left it: its statements, with the paths of today. */
function writeDatabase(file: string, places: Record<string, string>): void {
  const database = new DatabaseSync(file)
  const text = readFileSync(join(HERE, 'store.sql'), 'utf8')
  database.exec(text.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => places[name] ?? assert.fail(name)))
  database.close()
}

/** Tables, columns, indexes and triggers; the words may differ, what they make may not. */
function schemaOf(file: string): unknown {
  const database = new DatabaseSync(file, { readOnly: true })
  const plain = (text: unknown) => `${text ?? ''}`.replaceAll('"', '').replaceAll(/\s+/g, ' ').toLowerCase()
  const rows = (text: string) => database.prepare(text).all()
  const tables = rows("select name from sqlite_master where type = 'table' and name not like 'sqlite_%' order by name")
  const schema = tables.map(({ name }) => ({
    name,
    columns: rows(`pragma table_xinfo(${name})`),
    indexes: rows(`pragma index_list(${name})`)
      .map(index => ({ ...index, seq: 0, columns: rows(`pragma index_xinfo(${index['name']})`) }))
      .toSorted((a, b) => `${a['name' as never]}`.localeCompare(`${b['name' as never]}`)),
  }))
  const conditions = rows("select name, sql from sqlite_master where type in ('index', 'trigger') order by name")
  const version = rows('pragma user_version')
  database.close()
  return { schema, version, conditions: conditions.map(({ name, sql }) => [name, plain(sql)]) }
}

test('a database of the version before is brought to the schema of a new one, number included', async t => {
  const dir = tempDir(t)
  const places = { project: '/p', home: '/h', pcc: '/c', program: '/x', later: '1', account: 'a' }
  writeDatabase(join(dir, 'old.db'), places)
  for (const name of ['old.db', 'new.db']) await (await openStore({ file: join(dir, name) })).close()
  assert.deepEqual(schemaOf(join(dir, 'new.db')), schemaOf(join(dir, 'old.db')))
})

test('a home of the version before opens: sessions, tasks, rules, answers, checkpoints and settings', async t => {
  const { pcc, project } = await oldHome(t)
  const { sessions } = JSON.parse((await pcc.run(['list', '--json'])).stdout) as { sessions: SessionView[] }
  const statuses = Object.fromEntries(sessions.map(({ name, status }) => [name, status]))
  assert.deepEqual(statuses, {
    notes: 'rate_limited',
    colour: 'waiting_input',
    night: 'rate_limited',
    shape: 'completed',
    tidy: 'completed',
  })
  const { stdout: tasks } = await pcc.run(['task', 'list', '--project', project])
  assert.match(tasks, /t-74122f.*Paint the fence/)
  const { task } = JSON.parse((await pcc.run(['task', 'show', 't-74122f', '--json'])).stdout) as { task: TaskView }
  assert.equal(task.max_retries, null, 'nobody has set a number: the settings say it')
  assert.match((await pcc.run(['task', 'show', 't-c5edd3'])).stdout, /^Attempts: 1$/m)
  assert.match((await pcc.run(['rules', 'list'])).stdout, /allow +Bash +echo \*[\s\S]*deny +Write +\.\/secret\/\*/)
  assert.match((await pcc.run(['answers', 'list', '--project', project])).stdout, /Which shape\?/)
  assert.match((await pcc.run(['checkpoints', 'night'])).stdout, /2026-11-16/)
  assert.match((await pcc.run(['config', 'get', 'sessions.max_concurrent'])).stdout, /^4\n/)
  assert.match((await pcc.run(['logs', 'shape'])).stdout, /Which shape\?/)
  assert.match((await pcc.run(['pending'])).stdout, /│ 1 │ s-13c15a │ Q&A/)
})

test('a question that was parked before is answered by its number, and its session goes on', async t => {
  const { pcc } = await oldHome(t)
  const answered = await pcc.run(['respond', '1', 'blue'])
  assert.equal(answered.code, 0, answered.stderr)
  const { stdout } = await pcc.run(['attach', 'colour', '--json'])
  const events = stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as { kind: string; body: Record<string, unknown> })
  const last = (kind: string) => events.findLast(event => event.kind === kind)?.body
  assert.match(String(last('task.finished')?.['result']), /You said: .*"Which colour\?"="blue"/)
  assert.equal(last('session.ended')?.['status'], 'completed')
})

async function oldHome(t: TestContext) {
  const world = await agentWorld(t, SCENARIO, 'oauth')
  const { pcc, project } = world
  const paths = appPathsFor({ env: pcc.env })
  mkdirSync(paths.data, { recursive: true, mode: 0o700 })
  const places = {
    ...{ project, home: pcc.home, pcc: paths.home, program: '/nowhere' },
    account: accountOf({ kind: 'claude', name: 'claude' }, pcc.env),
    later: String(Date.now() + 2 * HOUR_MS),
  }
  writeDatabase(join(paths.data, 'perpetualcc.db'), places)
  for (const name of ['config.toml', 'rules.toml']) cpSync(join(HERE, name), join(paths.home, name))
  cpSync(join(HERE, 'checkpoints'), join(paths.data, 'checkpoints'), { recursive: true })
  return world
}
