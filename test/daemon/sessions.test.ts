import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { SessionView } from '../../src/domain/api.ts'
import type { StoredEvent } from '../../src/domain/event.ts'
import { gitProject, tempDir } from '../support/world.ts'
import { agentSessions, bodiesOf, isEnd } from './agent-sessions.ts'
import { viewWhen } from './daemon-process.ts'
import { inProcess } from './in-process.ts'
import { sharedDaemon } from './shared-daemon.ts'

const shared = sharedDaemon()

const SCENARIO = `
conversations:
  - match: write a file
    turns:
      - thinking: A file it is.
        text: I write it.
        tools:
          - Write: { file_path: "{{cwd}}/made.txt", content: "made\\n" }
          - Read: { file_path: "{{cwd}}/README.md" }
      - text: Done.
        usage: { input_tokens: 1200, output_tokens: 34 }
  - match: try a command
    turns:
      - tools: [{ Bash: { command: tee forbidden, description: Try } }]
      - text: "It said: {{last_tool_result}}"
  - match: ask something
    turns:
      - tools:
          - AskUserQuestion:
              questions: [{ question: Which colour?, header: Colour, multiSelect: false, options: [{ label: red, description: "" }, { label: blue, description: "" }] }]
      - text: "You said: {{last_tool_result}}"
  - match: run into the limit
    turns:
      - fault: { kind: limit, resets: +2h }
  - match: without a login
    turns:
      - fault: unauthorized
  - match: many turns
    turns:
      - { tools: [{ Read: { file_path: "{{cwd}}/README.md" } }], repeat: 9 }
      - text: Done.
`

test('a task is done: files written, every step stored in order, counters and cost in the view', async t => {
  const world = await agentSessions(t, SCENARIO, { shared })
  const started = await world.start('Please write a file')
  assert.equal(started.status, 'idle')
  assert.equal(started.name, 'write-file')
  const view = await viewWhen(world.daemon, started.id, ({ status }) => status === 'completed')
  assert.equal(readFileSync(join(world.project, 'made.txt'), 'utf8'), 'made\n')
  assert.deepEqual(view.tools, { auto: 2, human: 0, denied: 0 })
  assert.ok((view.cost_usd ?? 0) > 0 && view.tokens.output > 0 && view.turns > 0, JSON.stringify(view))
  assert.ok(view.vendor_id && view.model && view.ended_at)

  const events = await world.log(started.id)
  const kinds = events.map(({ kind }) => kind)
  assert.equal(kinds[0], 'session.created')
  assert.equal(kinds.at(-1), 'session.ended')
  const before = (a: StoredEvent['kind'], b: StoredEvent['kind']) =>
    assert.ok(kinds.indexOf(a) < kinds.indexOf(b), `${a} before ${b} in ${kinds}`)
  before('agent.started', 'agent.said')
  before('agent.said', 'tool.requested')
  before('tool.requested', 'permission.decided')
  before('permission.decided', 'tool.finished')
  assert.deepEqual(
    bodiesOf(events, 'agent.thought').map(({ text }) => text),
    ['A file it is.'],
  )
  assert.deepEqual(
    bodiesOf(events, 'tool.requested')
      .map(({ tool, target }) => `${tool} ${target}`)
      .sort(),
    ['Read README.md', 'Write made.txt'],
  )
  const decided = bodiesOf(events, 'permission.decided')
  assert.deepEqual(decided.map(({ tool, verdict, by, risk }) => [tool, verdict, by, risk]).sort(), [
    ['Read', 'allow', 'policy', 'LOW'],
    ['Write', 'allow', 'brain', 'MEDIUM'],
  ])
  assert.ok(decided.every(({ latency_ms }) => latency_ms >= 0))
  assert.equal(
    bodiesOf(events, 'tool.finished').every(({ ok }) => ok),
    true,
  )
  assert.equal(bodiesOf(events, 'turn.ended')[0]?.outcome, 'completed')
})

test('with nobody attached a dangerous command is denied at once and the agent is told the way round', async t => {
  const world = await inProcess(t, SCENARIO)
  const { id } = await world.start('try a command')
  const view = await viewWhen(world.daemon, id, ({ status }) => status === 'completed')
  assert.equal(existsSync(join(world.project, 'forbidden')), false)
  assert.deepEqual(view.tools, { auto: 0, human: 0, denied: 1 })
  const events = await world.log(id)
  const [decided] = bodiesOf(events, 'permission.decided')
  assert.deepEqual([decided?.verdict, decided?.by], ['deny', 'policy'])
  assert.equal(bodiesOf(events, 'permission.asked').length, 0)
  const said = bodiesOf(events, 'agent.said')
    .map(({ text }) => text)
    .join()
  assert.match(said, /tee writes forbidden; .*use the Write or Edit tool/)
})

test('an attached person is asked, the first answer wins, and a later one is told so', async t => {
  const world = await agentSessions(t, SCENARIO, { shared })
  const { id } = await world.start('try a command', { attach: true })
  const stream = await world.daemon.stream(`/events?session=${id}&attach=1`)
  const seen = await stream.until(({ kind }) => kind === 'permission.asked')
  const [asked] = bodiesOf(seen, 'permission.asked')
  assert.equal(asked?.target, 'tee forbidden')
  const asking = await world.daemon.call<SessionView>('GET', `/sessions/${id}`)
  assert.equal(asking.body.status, 'waiting_input')
  assert.deepEqual(
    asking.body.asks.map(({ ask_id }) => ask_id),
    [asked?.ask_id],
  )

  const answer = (body: object) =>
    world.daemon.call('POST', `/sessions/${id}/answers`, { body: { ask_id: asked?.ask_id, ...body } })
  assert.equal((await answer({ answers: { x: 'y' } })).body.error.code, 'bad_request')
  // Which of two answers at once comes first is up to the kernel, so both are the same.
  const replies = await Promise.all([1, 2].map(() => answer({ verdict: 'allow', by: 'ann' })))
  assert.deepEqual(replies.map(({ status }) => status).sort(), [200, 404])
  const late = [replies.find(({ status }) => status === 404), await answer({ verdict: 'deny' })]
  assert.deepEqual(
    late.map(reply => reply?.body.error?.code),
    ['ask_unknown', 'ask_unknown'],
  )
  const rest = await stream.until(isEnd)
  const [decided] = bodiesOf(rest, 'permission.decided')
  assert.deepEqual([decided?.verdict, decided?.by], ['allow', 'human'], 'who answers is not the word of the client')
  assert.equal(existsSync(join(world.project, 'forbidden')), true)
  const { body } = await world.daemon.call<SessionView>('GET', `/sessions/${id}`)
  assert.deepEqual([body.status, body.tools, body.asks], ['completed', { auto: 0, human: 1, denied: 0 }, []])
  stream.close()
})

test('when the last terminal leaves, an open permission is denied', async t => {
  const world = await agentSessions(t, SCENARIO, { shared })
  const { id } = await world.start('try a command')
  const first = await world.daemon.stream(`/events?session=${id}&attach=1`)
  const second = await world.daemon.stream(`/events?session=${id}&attach=1`)
  await first.until(({ kind }) => kind === 'permission.asked')
  first.close()
  const { body } = await world.daemon.call<SessionView>('GET', `/sessions/${id}`)
  assert.equal(body.asks.length, 1)
  second.close()
  const view = await viewWhen(world.daemon, id, ({ status }) => status === 'completed')
  assert.equal(view.tools.denied, 1)
  assert.equal(bodiesOf(await world.log(id), 'permission.decided')[0]?.by, 'nobody')
})

test('a question with nobody attached is parked without a process, and its answer reaches the same call', async t => {
  const world = await inProcess(t, SCENARIO)
  const { id } = await world.start('ask something')
  const parked = await viewWhen(world.daemon, id, ({ ended_at }) => ended_at !== null)
  assert.equal(parked.status, 'waiting_input')
  const [ask] = parked.asks
  assert.ok(ask?.kind === 'question')
  assert.equal(ask.questions[0]?.question, 'Which colour?')
  assert.equal((await world.daemon.call('GET', '/health')).body.sessions.live, 0)

  const answer = (body: object) =>
    world.daemon.call('POST', `/sessions/${id}/answers`, { body: { ask_id: ask.ask_id, ...body } })
  assert.match((await answer({ answers: { 'Which colour?': 'red' } })).body.error.message, /env/)
  assert.equal((await answer({ answers: {}, env: world.env })).body.error.code, 'bad_request')
  const both = await Promise.all([
    answer({ answers: { 'Which colour?': 'blue' }, env: world.env }),
    answer({ answers: { 'Which colour?': 'red' }, env: world.env }),
  ])
  assert.deepEqual(both.map(({ status }) => status).sort(), [200, 409])
  const view = await viewWhen(world.daemon, id, ({ status }) => status === 'completed')
  assert.deepEqual(view.asks, [])
  assert.equal(view.questions.human, 1)
  const events = await world.log(id)
  const call = bodiesOf(events, 'question.parked')[0]?.call_id
  assert.deepEqual(
    bodiesOf(events, 'question.answered').map(({ call_id, by }) => [call_id, by]),
    [[call, 'human']],
  )
  assert.match(
    bodiesOf(events, 'agent.said')
      .map(({ text }) => text)
      .join(),
    /You said: .*(blue|red)/,
  )
})

test('a parked question outlives the daemon', async t => {
  const world = await agentSessions(t, SCENARIO)
  const { id } = await world.start('ask something')
  await viewWhen(world.daemon, id, ({ ended_at }) => ended_at !== null)
  world.daemon.child.kill('SIGTERM')
  assert.equal(await world.daemon.ended, 0)
  const { startDaemon } = await import('./daemon-process.ts')
  const next = await startDaemon(t, { home: world.daemon.home })
  const { body } = await next.call<SessionView>('GET', `/sessions/${id}`)
  assert.equal(body.status, 'waiting_input')
  const answers = { 'Which colour?': 'red' }
  const reply = await next.call('POST', `/sessions/${id}/answers`, {
    body: { ask_id: body.asks[0]?.ask_id, answers, env: world.env },
  })
  assert.deepEqual(reply.body, { ok: true })
  assert.equal((await viewWhen(next, id, ({ status }) => status === 'completed')).questions.human, 1)
})

test('a limit shows as rate_limited with its reset, a missing login says how to log in, a cap pauses', async t => {
  const world = await agentSessions(t, SCENARIO, { auth: 'oauth', shared })
  const [limited, unknown, capped] = await Promise.all([
    // Each has an account of its own, because a limit or a refused login holds back all sessions of one account.
    world.start('run into the limit', { env: { ...world.env, CLAUDE_CODE_OAUTH_TOKEN: 'another-fake-token' } }),
    world.start('without a login', { env: { ...world.env, CLAUDE_CODE_OAUTH_TOKEN: 'refused-fake-token' } }),
    world.start('many turns', { max_turns: 2 }),
  ])
  const over = (id: string) => viewWhen(world.daemon, id, ({ ended_at }) => ended_at !== null)
  const limit = await over(limited.id)
  assert.equal(limit.status, 'rate_limited')
  assert.ok(limit.resumes_at && limit.resumes_at > Date.now() + 3_600_000, String(limit.resumes_at))
  const resets = bodiesOf(await world.log(limited.id), 'limit.hit')[0]?.resets_at ?? 0
  assert.ok(limit.resumes_at > resets && limit.resumes_at <= resets + 120_000, 'it goes on soon after the reset')
  const login = await over(unknown.id)
  assert.equal(login.status, 'paused')
  assert.ok(login.resumes_at !== null, 'it goes on by itself')
  assert.match(login.reason ?? '', /export CLAUDE_CODE_OAUTH_TOKEN=<new token> && pcc resume/)
  assert.equal(login.reason?.match(/pcc resume/g)?.length, 1, 'the advice is given once')
  assert.deepEqual([login.cost_usd, login.turns], [0, 0])
  const cap = await over(capped.id)
  assert.deepEqual([cap.status, cap.reason?.includes('pcc resume'), cap.turns], ['paused', true, 2])
})

test('bad input is refused and leaves no session behind', async t => {
  const world = await inProcess(t, SCENARIO)
  const file = join(tempDir(t), 'file')
  writeFileSync(file, '')
  const codeOf = async (body: object) =>
    (await world.daemon.call('POST', '/sessions', { body: { project: world.project, task: 'x', env: {}, ...body } }))
      .body.error.code
  assert.equal(await codeOf({ project: '/nowhere/at/all' }), 'project_missing')
  assert.equal(await codeOf({ project: file }), 'project_not_directory')
  assert.equal(await codeOf({ project: join(file, 'below') }), 'project_not_directory')
  assert.equal(await codeOf({ project: 'relative' }), 'bad_request')
  assert.equal(await codeOf({ task: ' \n ' }), 'task_empty')
  assert.equal(await codeOf({ resume: { vendor_id: 'nonsense', fork: false } }), 'resume_invalid')
  assert.equal(await codeOf({ record: '/nowhere/at/all.jsonl' }), 'record_unwritable')
  assert.equal(await codeOf({ record: world.project }), 'record_unwritable')
  assert.equal(await codeOf({ config: '/nowhere/at/all.toml' }), 'config_unreadable')
  assert.equal(await codeOf({ settings: { PCC_SESSION_MAX_CONCURRENT: '2' } }), 'setting_invalid')
  assert.equal(await codeOf({ settings: { PCC_AGENTS_PATH: file } }), 'agent_path_wrong')
  const project = gitProject(t, { '.perpetualcc.toml': 'nonsense = [' })
  assert.equal(await codeOf({ project }), 'config_invalid')
  assert.deepEqual((await world.daemon.call('GET', '/sessions')).body, {
    ...{ sessions: [], total: 0, decisions: 0, observed: [] },
  })
  assert.equal((await world.daemon.call('GET', '/sessions/nope')).body.error.code, 'session_unknown')
})

test('sessions are listed newest first, filtered by status and project, and named apart', async t => {
  const world = await inProcess(t, SCENARIO)
  const first = await world.start('write a file')
  await viewWhen(world.daemon, first.id, ({ status }) => status === 'completed')
  const [second, third] = await Promise.all([world.start('write a file'), world.start('write a file')])
  assert.deepEqual([second.name, third.name].sort(), ['write-file-2', 'write-file-3'])
  const list = async (query: string) =>
    (await world.daemon.call<{ sessions: SessionView[] }>('GET', `/sessions${query}`)).body.sessions.map(({ id }) => id)
  assert.equal((await list('')).length, 3)
  assert.equal((await list('')).at(-1), first.id)
  assert.deepEqual(await list(`?project=${encodeURIComponent(tempDir(t))}`), [])
  for (const { id } of [second, third]) await viewWhen(world.daemon, id, ({ status }) => status === 'completed')
  assert.deepEqual((await list(`?status=completed,error&project=${encodeURIComponent(world.project)}`)).length, 3)
  assert.deepEqual(await list('?status=running'), [])
})
