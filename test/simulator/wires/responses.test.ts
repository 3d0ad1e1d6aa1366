import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openSimulator, type Simulator } from '../../../src/simulator/open.ts'
import { faulty, WORK } from './scenario.ts'

interface Item {
  type: string
  name?: string
  namespace?: string
  call_id?: string
  arguments?: string
  input?: string
  content?: { text: string }[]
  summary?: { text: string }[]
}
interface Event {
  type: string
  sequence_number: number
  delta?: string
  item?: Item
  response?: { status: string; usage?: Record<string, unknown>; output?: Item[]; incomplete_details?: unknown }
}

const ENVIRONMENT = user('<environment_context>\n  <cwd>/home/me/project</cwd>\n</environment_context>')
const TOOLS = [
  { type: 'function', name: 'exec_command' },
  { type: 'custom', name: 'apply_patch' },
]

function user(text: string) {
  return { type: 'message', role: 'user', content: [{ type: 'input_text', text }] }
}

function post(simulator: Simulator, input: unknown, more: Record<string, unknown> = {}): Promise<Response> {
  const body = { model: 'gpt-test', stream: true, instructions: 'You are an agent.', input, tools: TOOLS, ...more }
  return fetch(`${simulator.url}/v1/responses`, { method: 'POST', body: JSON.stringify(body) })
}

async function streamed(response: Response): Promise<Event[]> {
  const text = await response.text()
  return text
    .split('\n\n')
    .filter(Boolean)
    .map(event => JSON.parse(event.replace(/^event: .*\ndata: /, '')) as Event)
}

function items(events: Event[]): Item[] {
  return events.flatMap(event => (event.type === 'response.output_item.done' && event.item ? [event.item] : []))
}

test('an answer comes as the Responses API streams it, with calls under their Codex names', async () => {
  await using simulator = await openSimulator({ text: WORK })
  const events = await streamed(await post(simulator, [ENVIRONMENT, user('please do the work')]))
  assert.equal(events[0]?.type, 'response.created')
  assert.deepEqual(
    events.map(event => event.sequence_number),
    events.map((_, at) => at),
  )
  const deltas = (type: string) =>
    events
      .filter(event => event.type === type)
      .map(event => event.delta)
      .join('')
  assert.equal(deltas('response.output_text.delta'), 'I begin.')
  assert.equal(deltas('response.reasoning_summary_text.delta'), 'Let me see.')
  const [reasoning, message, first, second] = items(events)
  assert.equal(reasoning?.summary?.[0]?.text, 'Let me see.')
  assert.equal(message?.content?.[0]?.text, 'I begin.')
  assert.deepEqual([first?.type, first?.name], ['function_call', 'exec_command'])
  assert.deepEqual(JSON.parse(first?.arguments ?? ''), { cmd: 'echo one > one.txt; echo made one' })
  assert.notEqual(first?.call_id, second?.call_id)
  const end = events.at(-1)
  assert.deepEqual([end?.type, end?.response?.status], ['response.completed', 'completed'])
  assert.deepEqual(end?.response?.usage, {
    input_tokens: 107,
    input_tokens_details: { cached_tokens: 7 },
    output_tokens: 20,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 127,
  })
})

test('calls of one answer count as one reply, also when results stand between them', async () => {
  await using simulator = await openSimulator({ text: WORK })
  const begin = [ENVIRONMENT, user('please do the work')]
  const [reasoning, message, first, second] = items(await streamed(await post(simulator, begin)))
  const output = (call: Item | undefined, text: string) => ({
    type: 'function_call_output',
    call_id: call?.call_id,
    output: text,
  })
  const between = [
    ...begin,
    ...[reasoning, message, first, output(first, 'Process exited with code 0\nOutput:\nmade one')],
    ...[second, output(second, 'Process exited with code 3\nOutput:\ntwo')],
  ]
  const [patch] = items(await streamed(await post(simulator, between)))
  assert.deepEqual([patch?.type, patch?.name], ['custom_tool_call', 'apply_patch'])
  assert.match(patch?.input ?? '', /^\*\*\* Begin Patch\n\*\*\* Add File: note\.txt\n\+hello\n/)
  const patched = { type: 'custom_tool_call_output', call_id: patch?.call_id, output: 'Exit code: 0\nSuccess.' }
  const [last] = items(await streamed(await post(simulator, [...between, patch, patched])))
  assert.equal(last?.content?.[0]?.text, 'All done in /home/me/project.')
  assert.deepEqual(
    simulator.requests.map(({ turn, unexpected }) => [turn, unexpected]),
    [
      ['work.turns[0]', []],
      ['work.turns[1]', []],
      ['work.turns[2]', []],
    ],
  )
})

test('one body in place of a stream, a prompt as plain text, and a session by its cache key', async () => {
  await using simulator = await openSimulator({ text: WORK })
  const response = await post(simulator, 'do the work', { stream: false, prompt_cache_key: 'conversation-1' })
  const body = (await response.json()) as { status: string; output: Item[] }
  assert.equal(body.status, 'completed')
  assert.equal(body.output[1]?.content?.[0]?.text, 'I begin.')
  assert.equal(simulator.requests[0]?.session, 'conversation-1')
})

test('an answer cut by the token limit is incomplete', async () => {
  const turns = [{ text: 'Half a sen', stop_reason: 'max_tokens' }]
  await using simulator = await openSimulator({ text: JSON.stringify({ conversations: [{ turns }] }) })
  const end = (await streamed(await post(simulator, 'x'))).at(-1)
  assert.equal(end?.type, 'response.incomplete')
  assert.deepEqual(end?.response?.incomplete_details, { reason: 'max_output_tokens' })
})

const FAULTS: [unknown, number, string, string | null][] = [
  ['overloaded', 503, 'service_unavailable_error', 'server_is_overloaded'],
  ['server_error', 500, 'server_error', null],
  ['unauthorized', 401, 'invalid_request_error', 'invalid_api_key'],
  ['forbidden', 403, 'invalid_request_error', 'forbidden'],
  ['model_not_found', 404, 'invalid_request_error', 'model_not_found'],
  ['prompt_too_long', 400, 'invalid_request_error', 'context_length_exceeded'],
  ['credit_too_low', 429, 'insufficient_quota', 'insufficient_quota'],
  [{ kind: 'rate_limit', retry_after: 9 }, 429, 'requests', 'rate_limit_exceeded'],
]

test('faults have the form of OpenAI', async () => {
  for (const [fault, status, type, code] of FAULTS) {
    await using simulator = await openSimulator({ text: faulty(fault) })
    const response = await post(simulator, 'do the work')
    const { error } = (await response.json()) as { error: { type: string; code: string | null } }
    assert.deepEqual([response.status, error.type, error.code], [status, type, code])
    if (code === 'rate_limit_exceeded') assert.equal(response.headers.get('retry-after'), '9')
  }
})

test('a used-up allowance says when it comes back, in the body and in the headers', async () => {
  const resets = Math.ceil(Date.now() / 1000) + 3600
  await using simulator = await openSimulator({ text: faulty({ kind: 'limit', resets, window: 'seven_day' }) })
  const response = await post(simulator, 'do the work')
  const { error } = (await response.json()) as { error: { type: string; resets_at: number; plan_type: string } }
  assert.deepEqual([response.status, error.type, error.resets_at], [429, 'usage_limit_reached', resets])
  const header = (name: string) => response.headers.get(`x-codex-${name}`)
  assert.deepEqual(
    [header('secondary-used-percent'), header('secondary-window-minutes'), header('secondary-reset-at')],
    ['100', '10080', String(resets)],
  )
  assert.equal(header('primary-used-percent'), '50')
})

test('windows that are not used up yet are told with an answer', async () => {
  const rate_limits = { five_hour: { utilization: 0.37, resets: 2_000_000_000 } }
  const text = JSON.stringify({ conversations: [{ turns: [{ text: 'fine', rate_limits }] }] })
  await using simulator = await openSimulator({ text })
  const response = await post(simulator, 'x')
  assert.equal(response.headers.get('x-codex-primary-used-percent'), '37')
  assert.equal(response.headers.get('x-codex-primary-reset-at'), '2000000000')
})

test('an error in the middle of a stream is a failed response', async () => {
  const fault = { kind: 'error_event', after: 2, times: 1 }
  await using simulator = await openSimulator({ text: faulty(fault, { text: 'fine' }) })
  const events = await streamed(await post(simulator, 'do the work'))
  assert.deepEqual(
    events.map(event => event.type),
    ['response.created', 'response.output_item.added', 'response.failed'],
  )
})

test('a tool of a server is called by both of its names, as far as the agent knows such a tool', async () => {
  const turns = [{ tools: [{ mcp__pcc__log: { text: 'x' } }, { mcp__other__log: {} }] }]
  await using simulator = await openSimulator({ text: JSON.stringify({ conversations: [{ match: 'go', turns }] }) })
  const tools = [{ type: 'namespace', name: 'pcc', tools: [{ type: 'function', name: 'log' }] }]
  const called = items(await streamed(await post(simulator, [user('go')], { tools })))
  assert.deepEqual(
    called.map(({ name, namespace }) => [namespace, name]),
    [
      ['pcc', 'log'],
      [undefined, 'mcp__other__log'],
    ],
  )
})
