import assert from 'node:assert/strict'
import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type GatherInput, gather } from '../../../src/agents/checkpoints/gather.ts'
import { Checkpoint } from '../../../src/domain/checkpoint.ts'
import type { NewEvent } from '../../../src/domain/event.ts'
import type { SessionRow } from '../../../src/store/tables.ts'
import { DATABASES } from '../../store/databases.ts'
import { tempDir } from '../../support/world.ts'
import { call, event } from './sample.ts'
import { timeAfter } from './time-after.ts'

const [database] = DATABASES

interface Given {
  events?: NewEvent[]
  row?: Partial<SessionRow>
  ask?: Partial<GatherInput>
  /** Runs after the session began, in place of its commands. */
  meanwhile?(project: string): void
}

async function gathered(t: TestContext, { events = [], row = {}, ask = {}, meanwhile }: Given) {
  assert.ok(database)
  const store = await database.open(t)
  const project = tempDir(t, 'pcc-project-')
  writeFileSync(join(project, 'before.txt'), 'as it was')
  const created = await timeAfter(join(project, 'before.txt'), tempDir(t))
  const session = await store.sessions.insert({
    id: 's-abc123',
    name: 'auth',
    project,
    task: 'Build user authentication',
    agent: 'claude',
    created_at: created,
    ...row,
  })
  meanwhile?.(project)
  await store.append(events)
  const checkpoint = await gather({ store, session, tasks: [], reason: 'limit', now: Date.now(), ...ask })
  return { store, project, session, checkpoint }
}

const plan = (...items: [string, 'pending' | 'active' | 'done'][]) =>
  event('plan.changed', { items: items.map(([text, state]) => ({ text, state })) })

test('a checkpoint tells done and open steps, also done ones that a later plan does not list any more', async t => {
  const { checkpoint, session } = await gathered(t, {
    events: [
      plan(['Create the schema', 'done'], ['Hash passwords', 'active']),
      plan(['Hash passwords', 'done'], ['Add the login route', 'active'], ['Write tests', 'pending']),
      plan(['Hash passwords', 'pending'], ['Add the login route', 'active'], ['Write tests', 'pending']),
    ],
  })
  assert.deepEqual(Checkpoint.parse(checkpoint), checkpoint)
  assert.deepEqual(checkpoint.completed_subtasks, ['Create the schema'])
  assert.deepEqual(checkpoint.pending_subtasks, ['Hash passwords', 'Add the login route', 'Write tests'])
  assert.equal(checkpoint.next_action, 'Add the login route')
  assert.equal(checkpoint.original_task, session.task)
  assert.equal(checkpoint.last_event, 3)
})

test('answers are decisions with what spoke for the option, and so is what a person said to a tool call', async t => {
  const questions = [
    {
      question: 'Which database?',
      header: '',
      multiSelect: false,
      options: [
        { label: 'Postgres', description: 'it is there already' },
        { label: 'SQLite', description: 'no server' },
      ],
    },
  ]
  const decided = { tool: 'Bash', risk: 'HIGH' as const, confidence: 1, latency_ms: 1, reason: 'they are copies' }
  const { checkpoint } = await gathered(t, {
    events: [
      event('question.parked', { ask_id: 'a', call_id: 'q1', questions, reason: 'nobody is there' }),
      event('question.answered', { call_id: 'q1', answers: { 'Which database?': 'Postgres' }, by: 'human' }),
      event('question.answered', { call_id: 'q2', answers: { 'Port?': '8080' }, by: 'brain' }),
      event('permission.decided', { ...decided, call_id: 'c1', target: 'rm old', verdict: 'allow', by: 'human' }),
      event('permission.decided', { ...decided, call_id: 'c2', target: 'ls', verdict: 'allow', by: 'policy' }),
      event('escalation.answered', {
        number: 4,
        tool: 'Read',
        target: '.env',
        risk: 'HIGH',
        verdict: 'deny',
        by: 'human',
        remembered: true,
      }),
    ],
  })
  assert.deepEqual(checkpoint.key_decisions, [
    { question: 'Which database?', answer: 'Postgres', rationale: 'it is there already', by: 'human' },
    { question: 'Port?', answer: '8080', rationale: 'the words of brain', by: 'brain' },
    { question: 'May it run (HIGH risk): Bash rm old', answer: 'allowed', rationale: 'they are copies', by: 'human' },
    {
      question: 'May it run (HIGH risk): Read .env',
      answer: 'denied',
      rationale: 'the decision of human',
      by: 'human',
    },
  ])
})

test('modified files are those that tools wrote, those that commands changed and those that are gone', async t => {
  const odd = 'a "quoted"\nname | with 😀.txt'
  const { checkpoint } = await gathered(t, {
    events: [
      ...call('1', 'Write', { file_path: 'src/auth.ts' }),
      ...call('2', 'Edit', { file_path: 'gone.ts' }),
      ...call('3', 'Write', { file_path: 'refused.ts' }, { ok: false }),
      ...call('4', 'Read', { file_path: 'only-read.ts' }),
      ...call('5', 'Write', { file_path: '../outside.ts' }),
      ...call('6', 'Write', { file_path: 'node_modules/mine.js' }),
    ],
    meanwhile(project) {
      for (const folder of ['src', '.git', 'node_modules']) mkdirSync(join(project, folder))
      writeFileSync(join(project, 'src/auth.ts'), 'export {}\n')
      writeFileSync(join(project, odd), 'made by a command')
      utimesSync(join(project, odd), 0, 0)
      writeFileSync(join(project, '.git/index'), 'history')
      writeFileSync(join(project, 'node_modules/other.js'), 'a download')
      writeFileSync(join(project, 'node_modules/mine.js'), 'written by a tool')
    },
  })
  assert.deepEqual(
    checkpoint.modified_files.map(({ path, hash, bytes }) => [path, hash?.length ?? null, bytes]),
    [
      [odd, 64, 17],
      ['gone.ts', null, 0],
      ['node_modules/mine.js', 64, 17],
      ['src/auth.ts', 64, 10],
    ],
  )
  assert.deepEqual(checkpoint.left_out, [])
})

test('an absolute path of a tool is told from the project', async t => {
  const project = tempDir(t, 'pcc-elsewhere-')
  writeFileSync(join(project, 'x.ts'), '1')
  const { checkpoint } = await gathered(t, {
    row: { project },
    events: call('1', 'Write', { file_path: join(project, 'x.ts') }),
  })
  assert.deepEqual(
    checkpoint.modified_files.map(({ path }) => path),
    ['x.ts'],
  )
})

test('a look that is cut short says so, and what tools wrote is there all the same', async t => {
  const { checkpoint } = await gathered(t, {
    events: call('1', 'Write', { file_path: 'src/auth.ts' }),
    meanwhile(project) {
      mkdirSync(join(project, 'src'))
      writeFileSync(join(project, 'src/auth.ts'), 'x')
      for (let nth = 0; nth < 30; nth++) writeFileSync(join(project, `${nth}.txt`), 'x')
    },
    ask: { scanLimits: { entries: 10, found: 5, ms: 60_000 } },
  })
  assert.ok(checkpoint.modified_files.some(({ path }) => path === 'src/auth.ts'))
  assert.match(checkpoint.left_out.join(), /not searched completely/)
})

test('a call that has not come back is named, for its outcome is unknown', async t => {
  const { checkpoint } = await gathered(t, {
    events: [
      plan(['Run the migration', 'active']),
      ...call('1', 'Read', {}, { target: 'a.ts' }),
      event('tool.requested', { call_id: '2', tool: 'Bash', target: 'npm run migrate', input: {} }),
    ],
  })
  assert.equal(checkpoint.next_action, 'Run the migration (under way, outcome unknown: Bash npm run migrate)')
})

test('the queue tells what runs and what is left; what was cancelled is left out', async t => {
  const tasks = [
    { title: 'First', state: 'done' },
    { title: 'Second', state: 'waiting', description: 'Second, with all that it needs' },
    { title: 'Third', state: 'cancelled' },
    { title: 'Fourth', state: 'ready' },
  ] as const
  const { checkpoint } = await gathered(t, { ask: { tasks: [...tasks] } })
  assert.equal(checkpoint.current_task, 'Second, with all that it needs')
  assert.equal(checkpoint.next_action, 'Second')
  assert.deepEqual(
    checkpoint.queue.map(({ title }) => title),
    ['First', 'Second', 'Fourth'],
  )
})

test('a summary is what the agent said last, or what a brain makes of it, or the former when the brain fails', async t => {
  const events = [
    event('agent.said', { text: 'I am a subagent', agent_id: 'x' }),
    event('agent.said', { text: 'The schema stands.' }),
    event('turn.ended', { outcome: 'completed', text: 'The schema stands.', turns: 1, duration_ms: 1, denials: 0 }),
    ...call('1', 'Read', {}),
  ]
  const own = 'The schema stands.'
  assert.equal((await gathered(t, { events })).checkpoint.conversation_summary, own)
  const seen: string[] = []
  const summarize = async (material: string) => `${seen.push(material)} line`
  assert.equal((await gathered(t, { events, ask: { summarize } })).checkpoint.conversation_summary, '1 line')
  assert.deepEqual(seen, [own])
  const broken = () => Promise.reject(new Error('no brain'))
  assert.equal((await gathered(t, { events, ask: { summarize: broken } })).checkpoint.conversation_summary, own)
})

test('the next checkpoint reads on from the last and knows what that knew', async t => {
  const first = await gathered(t, {
    events: [
      plan(['Create the schema', 'done'], ['Write tests', 'active']),
      event('question.answered', { call_id: 'q2', answers: { 'Port?': '8080' }, by: 'brain' }),
      ...call('1', 'Write', { file_path: 'x.ts' }),
      event('agent.said', { text: 'x is written.' }),
    ],
    meanwhile: project => writeFileSync(join(project, 'x.ts'), 'x'),
  })
  await first.store.append([plan(['Write tests', 'done']), event('agent.said', { text: 'Tests are written.' })])
  rmSync(join(first.project, 'x.ts'))
  const asked: (number | undefined)[] = []
  const store: GatherInput['store'] = {
    events(query) {
      asked.push(query.after)
      return first.store.events(query)
    },
  }
  const { session, checkpoint: previous } = first
  const next = await gather({ store, session, tasks: [], reason: 'interval', now: Date.now(), previous })
  assert.equal(asked[0], previous.last_event)
  assert.deepEqual(next.completed_subtasks, ['Create the schema', 'Write tests'])
  assert.deepEqual(next.key_decisions, previous.key_decisions)
  assert.deepEqual(next.modified_files, [{ path: 'x.ts', hash: null, bytes: 0 }])
  assert.equal(next.conversation_summary, 'x is written.\n\nTests are written.')
})

test('a hundred thousand events are read in pages, and nothing of it grows without end', async t => {
  const events = Array.from({ length: 25_000 }, (_, nth) => [
    ...call(`c${nth}`, 'Write', { file_path: `f${nth}.ts`, content: 'x'.repeat(200) }),
    event('question.answered', { call_id: `q${nth}`, answers: { [`Question ${nth}?`]: 'yes' }, by: 'brain' }),
    event('agent.said', { text: `Step ${nth} is done.` }),
  ]).flat()
  const { store, session } = await gathered(t, {})
  for (let at = 0; at < events.length; at += 10_000) await store.append(events.slice(at, at + 10_000))
  let largest = 0
  const counted: GatherInput['store'] = {
    async events(query) {
      const page = await store.events(query)
      largest = Math.max(largest, page.length)
      return page
    },
  }
  const checkpoint = await gather({ store: counted, session, tasks: [], reason: 'pause', now: Date.now() })
  assert.ok(largest > 0 && largest <= 500, String(largest))
  assert.equal(checkpoint.last_event, 100_000)
  assert.equal(checkpoint.key_decisions.at(-1)?.question, 'Question 24999?')
  assert.equal(checkpoint.key_decisions.length, 200)
  assert.ok(checkpoint.modified_files.length <= 500)
  assert.match(checkpoint.conversation_summary, /Step 24999 is done\.$/)
  assert.match(checkpoint.left_out.join('\n'), /24800 older decisions/)
  assert.ok(JSON.stringify(checkpoint).length < 200_000)
  const again = await gather({ store, session, tasks: [], reason: 'pause', now: Date.now(), previous: checkpoint })
  assert.deepEqual({ ...again, timestamp: 0 }, { ...checkpoint, timestamp: 0 })
})
