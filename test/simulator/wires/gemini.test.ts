import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openSimulator, type Simulator } from '../../../src/simulator/open.ts'
import { faulty, WORK } from './scenario.ts'

interface Part {
  text?: string
  thought?: boolean
  functionCall?: { name: string; args: Record<string, unknown> }
}
interface Chunk {
  candidates: { content: { role: string; parts: Part[] }; finishReason?: string }[]
  usageMetadata: Record<string, number>
}

const CONTEXT = {
  role: 'user',
  parts: [
    {
      text: '<session_context>\nThis is the Gemini CLI.\n- **Workspace Directories:**\n  - /home/me/project\n</session_context>',
    },
  ],
}
const say = (text: string) => ({ role: 'user', parts: [{ text }] })
const model = (text: string) => ({ role: 'model', parts: [{ text }] })
const results = (...given: Record<string, unknown>[]) => ({
  role: 'user',
  parts: given.map(response => ({ functionResponse: { name: 'run_shell_command', response } })),
})

function post(simulator: Simulator, verb: string, contents: unknown[]): Promise<Response> {
  return fetch(`${simulator.url}/v1beta/models/gemini-test:${verb}`, {
    method: 'POST',
    headers: { 'x-goog-api-key': 'fake' },
    body: JSON.stringify({ contents, systemInstruction: { parts: [{ text: 'You are an agent.' }] } }),
  })
}

async function streamed(response: Response): Promise<Chunk[]> {
  const text = await response.text()
  return text
    .split('\r\n\r\n')
    .filter(Boolean)
    .map(event => JSON.parse(event.replace(/^data: /, '')) as Chunk)
}

test('an answer comes as Gemini streams it: thoughts, text, calls under their Gemini names, and the reason last', async () => {
  await using simulator = await openSimulator({ text: WORK })
  const response = await post(simulator, 'streamGenerateContent?alt=sse', [CONTEXT, say('please do the work')])
  assert.match(response.headers.get('content-type') ?? '', /text\/event-stream/)
  const chunks = await streamed(response)
  const parts = chunks.flatMap(chunk => chunk.candidates[0]?.content.parts ?? [])
  assert.equal(
    parts
      .filter(part => part.thought)
      .map(part => part.text)
      .join(''),
    'Let me see.',
  )
  assert.equal(
    parts
      .filter(part => part.text && !part.thought)
      .map(part => part.text)
      .join(''),
    'I begin.',
  )
  assert.deepEqual(
    parts.flatMap(part => (part.functionCall ? [[part.functionCall.name, part.functionCall.args]] : [])),
    [
      ['run_shell_command', { command: 'echo one > one.txt; echo made one' }],
      ['run_shell_command', { command: 'echo two; exit 3' }],
    ],
  )
  assert.deepEqual(chunks.map(chunk => chunk.candidates[0]?.finishReason).filter(Boolean), ['STOP'])
  assert.deepEqual(chunks.at(-1)?.usageMetadata, {
    promptTokenCount: 107,
    cachedContentTokenCount: 7,
    candidatesTokenCount: 20,
    totalTokenCount: 127,
  })
})

test('the place in the conversation is read from the request, and what the CLI adds is no prompt', async () => {
  await using simulator = await openSimulator({ text: WORK })
  const begun = [
    CONTEXT,
    say('please do the work'),
    model('I begin.'),
    results({ output: 'Output: made one' }, { output: 'Output: two\nExit Code: 3' }),
  ]
  const second = await post(simulator, 'generateContent', begun)
  const [call] = ((await second.json()) as Chunk).candidates[0]?.content.parts ?? []
  assert.equal(call?.functionCall?.name, 'write_file')
  const third = await post(simulator, 'generateContent', [
    ...begun,
    model(''),
    results({ error: 'denied by the user' }),
  ])
  const [said] = ((await third.json()) as Chunk).candidates[0]?.content.parts ?? []
  assert.equal(said?.text, 'All done in /home/me/project.')
  const later = await post(simulator, 'generateContent', [...begun, model('Done.'), say('and more')])
  assert.equal(((await later.json()) as Chunk).candidates[0]?.content.parts[0]?.text, 'More is done.')
  assert.deepEqual(
    simulator.requests.map(({ turn, first_prompt, model, unexpected }) => [turn, first_prompt, model, unexpected]),
    [
      ['work.turns[1]', 'please do the work', 'gemini-test', []],
      ['work.turns[2]', 'please do the work', 'gemini-test', ['tool_failed']],
      ['work.later[0].turns[0]', 'please do the work', 'gemini-test', []],
    ],
  )
})

test('tokens are counted, and what is not understood is refused in the form of Google', async () => {
  await using simulator = await openSimulator({ text: WORK })
  const counted = await post(simulator, 'countTokens', [say('anything')])
  assert.ok(((await counted.json()) as { totalTokens: number }).totalTokens > 0)
  const unknown = await post(simulator, 'generateContent', [say('what?')])
  assert.equal(unknown.status, 400)
  const { error } = (await unknown.json()) as { error: { code: number; status: string; message: string } }
  assert.deepEqual([error.code, error.status], [400, 'INVALID_ARGUMENT'])
  assert.match(error.message, /No conversation of the scenario matches the prompt "what\?"/)
  assert.equal((await post(simulator, 'generateContent', [])).status, 400)
  assert.equal((await post(simulator, 'embedContent', [say('x')])).status, 404)
})

type Details = { '@type': string; reason?: string; retryDelay?: string; violations?: { quotaId: string }[] }[]

const FAULTS: [unknown, number, string][] = [
  ['overloaded', 503, 'UNAVAILABLE'],
  ['server_error', 500, 'INTERNAL'],
  ['unauthorized', 400, 'INVALID_ARGUMENT'],
  ['forbidden', 403, 'PERMISSION_DENIED'],
  ['model_not_found', 404, 'NOT_FOUND'],
  ['prompt_too_long', 400, 'INVALID_ARGUMENT'],
  ['credit_too_low', 429, 'RESOURCE_EXHAUSTED'],
  [{ kind: 'limit', resets: '+90m' }, 429, 'RESOURCE_EXHAUSTED'],
  [{ kind: 'rate_limit', retry_after: 9 }, 429, 'RESOURCE_EXHAUSTED'],
]

test('faults have the form of Google: a code, a status and the details by which the CLI tells a pause from an end', async () => {
  const seen = new Map<string, { message: string; details?: Details }>()
  for (const [fault, code, status] of FAULTS) {
    await using simulator = await openSimulator({ text: faulty(fault) })
    const response = await post(simulator, 'streamGenerateContent', [say('do the work')])
    assert.equal(response.status, code)
    const { error } = (await response.json()) as { error: { code: number; status: string; message: string } }
    assert.deepEqual([error.code, error.status], [code, status])
    seen.set(typeof fault === 'string' ? fault : (fault as { kind: string }).kind, error)
  }
  const limit = seen.get('limit')
  assert.match(limit?.message ?? '', /quota will reset after 1h30m0s/)
  assert.deepEqual(
    limit?.details?.map(detail => detail.reason ?? detail.retryDelay),
    ['QUOTA_EXHAUSTED', '5400s'],
  )
  const rate = seen.get('rate_limit')?.details
  assert.equal(rate?.[0]?.violations?.[0]?.quotaId, 'GenerateRequestsPerMinutePerProjectPerModel-FreeTier')
  assert.equal(rate?.[1]?.retryDelay, '9s')
})

test('an answer that breaks off breaks off in the middle of the stream', async () => {
  const text = 'x'.repeat(300)
  const turn = { text, until: undefined }
  await using cut = await openSimulator({ text: faulty({ kind: 'cut_stream', after: 2, times: 1 }, { text }) })
  await assert.rejects((await post(cut, 'streamGenerateContent', [say('do the work')])).text())
  const whole = await streamed(await post(cut, 'streamGenerateContent', [say('do the work')]))
  assert.equal(whole.flatMap(one => one.candidates[0]?.content.parts.map(part => part.text)).join(''), turn.text)

  await using failing = await openSimulator({ text: faulty({ kind: 'error_event', after: 1, times: 1 }, { text }) })
  const events = await (await post(failing, 'streamGenerateContent', [say('do the work')])).text()
  assert.match(events, /"error":\{"code":503,"message":"Overloaded","status":"UNAVAILABLE"\}/)
})
