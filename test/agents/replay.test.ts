import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Asks, OpenSession, SessionEvent } from '../../src/domain/session.ts'
import { tempDir } from '../support/world.ts'
import { claude } from './claude-adapter.ts'
import { ALLOW, allowing, asking, DENY, World } from './conformance/world.ts'
import { replayDriver } from './replay.ts'

const PARK = { park: true as const, reason: 'nobody is awake' }
const answering = (colour: string) =>
  asking(
    () => ALLOW,
    () => ({ answers: { 'Which colour?': colour }, by: 'human' }),
  )

// The expected events of recorded conversations of the real Claude Code, whatever we change. make-recordings.ts records them.
const EXPECTED: Record<string, string[]> = {
  success: [
    'started claude-opus-5-5 /proj',
    'thinking A note, then.',
    'text I will write it.',
    'tool_request TodoWrite',
    'tool_result ok',
    'plan active write it',
    'tool_request Write /proj/note.txt',
    'tool_request Bash cat note.txt',
    'tool_result ok',
    'tool_result ok hello',
    'text It is written.',
    'turn_ended completed It is written.',
    'ended closed',
  ],
  denial: [
    'started claude-opus-5-5 /proj',
    'tool_request Bash rm -rf build',
    'tool_result failed PreToolUse:Bash hook error: not on my watch',
    'text Then I leave it.',
    'turn_ended completed Then I leave it.',
    'ended closed',
  ],
  limit: [
    'started claude-sonnet-5-5 /proj',
    'limit rejected five_hour 2030-01-01T00:00:00.000Z',
    'turn_ended failed limit',
    'ended closed',
  ],
  subagent: [
    'started claude-opus-5-5 /proj',
    'tool_request Agent',
    'text On it. (subagent)',
    'tool_request Bash ls (subagent)',
    'tool_result ok (subagent)',
    'text Nothing odd. (subagent)',
    'tool_result ok',
    'text It is clean.',
    'turn_ended completed It is clean.',
    'ended closed',
  ],
}

for (const [name, expected] of Object.entries(EXPECTED)) {
  test(`the recorded conversation "${name}" gives the same events as on the day it was recorded`, async () => {
    const driver = replayDriver(recording(name))
    const events = await play(driver, name === 'denial' ? asking(() => DENY) : allowing())
    assert.deepEqual(events.filter(event => event.kind !== 'usage').map(brief), expected)
    assert.deepEqual(driver.differences, [])
  })
}

test('the recorded totals are those of the last result', async () => {
  const events = await play(replayDriver(recording('success')), allowing())
  const usage = events.filter(event => event.kind === 'usage')
  const last = usage.at(-1)
  assert.ok(last && last.costUsd > 0 && last.contextWindow === 1_000_000)
  const rising = usage.map(event => event.inputTokens)
  assert.deepEqual(
    rising,
    rising.toSorted((a, b) => a - b),
    'running totals never shrink',
  )
})

test('a recorded question is parked in its first session and answered in the second', async () => {
  const driver = replayDriver(recording('question'))
  const parked = await play(
    driver,
    asking(
      () => ALLOW,
      () => PARK,
    ),
  )
  assert.deepEqual(parked.filter(event => event.kind !== 'usage').map(brief), [
    'started claude-opus-5-5 /proj',
    'question Which colour?',
    'turn_ended parked AskUserQuestion',
    'ended closed',
  ])
  const answered = await play(driver, answering('Blue'), undefined)
  assert.deepEqual(answered.filter(event => event.kind !== 'usage').map(brief), [
    'question Which colour?',
    'tool_result ok Your questions have been answered: "Which colour?"="Blue".',
    'started claude-opus-5-5 /proj',
    'text Painted.',
    'turn_ended completed Painted.',
    'ended closed',
  ])
  assert.deepEqual(driver.differences, [])
})

test('answers that differ from the recorded ones are reported, and the recording goes on', async () => {
  const driver = replayDriver(recording('success'))
  const asks = asking(({ tool }) => (tool === 'Bash' ? DENY : ALLOW))
  const events = await play(driver, asks)
  assert.equal(asks.requests.length, 3, 'everything that was asked is asked')
  assert.deepEqual(
    driver.differences.map(({ kind, given, recorded }) => [
      kind,
      'verdict' in given && given.verdict,
      'verdict' in recorded && recorded.verdict,
    ]),
    [['permission', 'deny', 'allow']],
  )
  assert.equal(events.at(-2)?.kind, 'turn_ended')

  const painted = replayDriver(recording('question'))
  await play(painted, answering('Red'))
  await play(painted, answering('Red'), undefined)
  assert.deepEqual(
    painted.differences.map(one => one.kind),
    ['question', 'question'],
  )
})

test('a session that was recorded and its replay tell the same events', async t => {
  const world = await World.open(t, claude, [
    {
      prompt: 'first',
      steps: [{ say: 'One.', calls: [{ run: 'touch one.txt' }, { run: 'touch two.txt' }] }, { say: 'Done.' }],
      later: [{ prompt: 'second', steps: [{ calls: [{ run: 'touch begun; sleep 0.4' }] }, { say: 'Unreachable.' }] }],
    },
  ])
  const record = join(world.home, 'recording.jsonl')
  const asks = asking(({ input }) => (JSON.stringify(input).includes('two') ? DENY : ALLOW))
  const talk = await world.talk('first', { asks, record })
  await talk.turn()
  await talk.session.prompt('second')
  await talk.until('tool_request')
  await talk.session.pause()
  assert.equal((await talk.turn()).outcome, 'paused')
  await talk.close()

  const driver = replayDriver(record)
  const session = await driver.open(options(asks, 'first'))
  const replayed: SessionEvent[] = []
  for await (const event of session.events) {
    replayed.push(event)
    if (event.kind !== 'turn_ended') continue
    if (event.outcome === 'completed') await session.prompt('second')
    else await session[Symbol.asyncDispose]()
  }
  assert.deepEqual(replayed, talk.seen)
  assert.deepEqual(driver.differences, [])
})

test('a file that is no recording ends the session with the line that is wrong', async t => {
  const file = join(tempDir(t), 'broken.jsonl')
  writeFileSync(
    file,
    `${readFileSync(recording('denial'), 'utf8').split('\n').slice(0, 2).join('\n')}\n{"pcc":"ask"}\n`,
  )
  for (const [path, message] of [
    [file, /broken\.jsonl:3/],
    [join(tempDir(t), 'gone.jsonl'), /gone\.jsonl/],
  ] as const) {
    const events = await play(replayDriver(path), allowing())
    const ended = events.at(-1)
    assert.equal(ended?.kind === 'ended' && ended.reason, 'failed')
    assert.match((ended?.kind === 'ended' && ended.failure?.message) || '', message)
  }
})

function recording(name: string): string {
  return fileURLToPath(new URL(`recordings/${name}.jsonl`, import.meta.url))
}

function options(asks: Asks, prompt: string | undefined): OpenSession {
  return { id: 's-000001', cwd: '/proj', env: {}, settingSources: [], isolation: 'auto', asks, prompt }
}

async function play(
  driver: ReturnType<typeof replayDriver>,
  asks: Asks,
  prompt: string | undefined = 'go',
): Promise<SessionEvent[]> {
  const session = await driver.open(options(asks, prompt))
  const events: SessionEvent[] = []
  for await (const event of session.events) {
    events.push(event)
    if (event.kind === 'turn_ended') await session[Symbol.asyncDispose]()
  }
  return events
}

/** The essentials of an event on one line. */
function brief(event: SessionEvent): string {
  const by = 'agentId' in event && event.agentId !== undefined ? ' (subagent)' : ''
  return `${event.kind} ${words(event)}`.trim() + by
}

function words(event: SessionEvent): string {
  switch (event.kind) {
    case 'started':
      return `${event.model} ${event.cwd}`
    case 'text':
    case 'thinking':
      return event.text
    case 'tool_request':
      return `${event.tool} ${event.input['command'] ?? event.input['file_path'] ?? ''}`.trim()
    case 'tool_result':
      return `${event.ok ? 'ok' : 'failed'} ${/^(hello|PreToolUse.*|Your questions.*?\.)/.exec(event.output)?.[0] ?? ''}`.trim()
    case 'question':
      return event.questions.map(question => question.question).join()
    case 'plan':
      return event.items.map(item => `${item.state} ${item.text}`).join()
    case 'limit':
      return `${event.status} ${event.window} ${new Date(event.resetsAt ?? 0).toISOString()}`
    case 'turn_ended':
      return `${event.outcome} ${event.failure?.kind ?? event.parked?.tool ?? event.text}`
    case 'ended':
      return event.reason
    default:
      return ''
  }
}
