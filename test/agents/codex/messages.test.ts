import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readScript } from '../../../src/agents/codex/calls.ts'
import { readLimitEvent, readTurnLimit, turnFailure } from '../../../src/agents/codex/failures.ts'
import { CodexSpending } from '../../../src/agents/codex/translator.ts'

const lines: [string, string][] = [
  ["/bin/bash -lc 'cat README.md'", 'cat README.md'],
  ['/bin/bash -lc ls', 'ls'],
  ["/bin/sh -c 'echo hi'", 'echo hi'],
  ["/usr/bin/zsh -lc ''", ''],
  // As the real Codex reports it: a text with both kinds of quotes and a line end.
  [
    `/bin/bash -lc "echo 'it'\\"'\\"'s' \\""'$HOME" $(date) && echo é\nls'`,
    `echo 'it'"'"'s' "$HOME" $(date) && echo é\nls`,
  ],
  ['/bin/bash -lc echo\\ hi', 'echo hi'],
  // Not of that form, so it is judged as it is.
  ['/bin/bash -lc ls extra', '/bin/bash -lc ls extra'],
  ['/tmp/bash -lc ls', '/tmp/bash -lc ls'],
  ['/bin/bash -x ls', '/bin/bash -x ls'],
  ["/bin/bash -lc 'open", "/bin/bash -lc 'open"],
  ['python3 -c "print(1)"', 'python3 -c "print(1)"'],
]
for (const [line, script] of lines) {
  test(`of ${JSON.stringify(line)} the command is ${JSON.stringify(script)}`, () =>
    assert.equal(readScript(line), script))
}

const NOW = Date.UTC(2026, 10, 15, 12)
const seconds = NOW / 1000

test('windows are named by their length, and the fullest one stands for all', () => {
  const primary = { usedPercent: 40, windowDurationMins: 300, resetsAt: seconds + 60 }
  const secondary = { usedPercent: 92.5, windowDurationMins: 10_080, resetsAt: seconds + 600 }
  const event = readLimitEvent({ rateLimits: { primary, secondary } })
  assert.deepEqual(event, {
    ...{ kind: 'limit', status: 'warning', window: 'seven_day', utilization: 0.925, resetsAt: NOW + 600_000 },
    windows: {
      five_hour: { utilization: 0.4, resetsAt: NOW + 60_000 },
      seven_day: { utilization: 0.925, resetsAt: NOW + 600_000 },
    },
  })
  assert.equal(readLimitEvent({ rateLimits: { primary, secondary: null } })?.status, 'allowed')
  assert.equal(readLimitEvent({ rateLimits: { primary: { ...primary, usedPercent: 100 } } })?.status, 'rejected')
  assert.equal(
    readLimitEvent({ rateLimits: { primary: { usedPercent: 1, windowDurationMins: 60 } } })?.window,
    '60_minutes',
  )
  assert.equal(readLimitEvent({ rateLimits: { primary: null, secondary: null } }), undefined)
  assert.equal(readLimitEvent({ rateLimits: 'x' }), undefined)
})

test("a limit's reset is that of the window that is full, else what the error says, else unknown", () => {
  const full = readLimitEvent({
    rateLimits: { primary: { usedPercent: 100, windowDurationMins: 300, resetsAt: seconds + 60 } },
  })
  const message = 'You’ve hit your usage limit. Upgrade to Pro or try again at 3:30 PM.'
  const told = { now: NOW, tz: 'UTC' }
  assert.deepEqual(readTurnLimit(message, { ...told, event: full }), {
    ...{ window: 'five_hour', resetsAt: NOW + 60_000, source: 'event', message },
  })
  assert.deepEqual(readTurnLimit(message, { ...told, event: undefined }), {
    ...{ resetsAt: NOW + 3.5 * 3_600_000, source: 'message', message },
  })
  assert.deepEqual(readTurnLimit('Too many.', { ...told, event: undefined }), {
    source: 'result',
    message: 'Too many.',
  })
})

const failures: [string, unknown, string][] = [
  ['x', 'usageLimitExceeded', 'limit'],
  ['Quota exceeded. Check your plan and billing details.', 'usageLimitExceeded', 'billing'],
  ['x', 'rateLimitExceeded', 'limit'],
  ['x', 'serverOverloaded', 'overloaded'],
  ['x', 'unauthorized', 'auth'],
  ['x', 'contextWindowExceeded', 'prompt_too_long'],
  ['x', 'cyberPolicy', 'refusal'],
  ['x', { httpConnectionFailed: { httpStatusCode: 401 } }, 'auth'],
  ['x', { responseStreamDisconnected: { httpStatusCode: 429 } }, 'limit'],
  ['x', { responseTooManyFailedAttempts: { httpStatusCode: 500 } }, 'server'],
  ['x', { responseStreamDisconnected: { httpStatusCode: null } }, 'network'],
  ['Missing environment variable: `KEY`.', 'other', 'auth'],
  ['Your session is over. Please sign in again.', null, 'auth'],
  // A refused request is quoted, and a quote may hold anything that the model wrote.
  ['Invalid value: not logged in; credit balance', { httpConnectionFailed: { httpStatusCode: 400 } }, 'other'],
  ['The file billing/login.ts has no api key field', null, 'other'],
  ['x', 'a word of tomorrow', 'other'],
  ['x', null, 'other'],
]
for (const [message, codexErrorInfo, kind] of failures) {
  test(`${JSON.stringify(codexErrorInfo)} with "${message}" is ${kind}`, () =>
    assert.equal(turnFailure({ message, codexErrorInfo }).kind, kind))
}

test('counts that no conversation reaches, or that fall, take nothing from what was spent', () => {
  const told = (inputTokens: unknown) => {
    const tokens = { totalTokens: 5, inputTokens, cachedInputTokens: 0, outputTokens: 5 }
    return { threadId: 't', tokenUsage: { total: tokens, last: tokens } }
  }
  const spending = new CodexSpending({ resumed: false })
  const counted = (inputTokens: unknown) =>
    spending.read(told(inputTokens), 1).map(event => (event.kind === 'usage' ? event.inputTokens : event))
  assert.deepEqual([100, 1e308, -1e9, 1e11, 0, 130].map(counted), [[100], [], [], [], [100], [130]])
})

test('what a resumed conversation had spent before is taken off, told beforehand or not', () => {
  const tokens = (input: number, cached: number) => ({
    ...{
      totalTokens: input + 5,
      inputTokens: input,
      cachedInputTokens: cached,
      cacheWriteInputTokens: 0,
      outputTokens: 5,
    },
  })
  const usage = (total: object, last: object) => ({
    threadId: 't',
    tokenUsage: { total, last, modelContextWindow: 1000 },
  })
  const counted = (spending: CodexSpending, told: unknown) => {
    const [event] = spending.read(told, 1)
    assert.ok(event?.kind === 'usage')
    return [event.inputTokens, event.cacheReadTokens, event.contextTokens, event.contextWindow]
  }
  assert.deepEqual(
    counted(new CodexSpending({ resumed: false }), usage(tokens(100, 40), tokens(100, 40))),
    [60, 40, 105, 1000],
  )
  const resumed = new CodexSpending({ resumed: true })
  assert.deepEqual(counted(resumed, usage(tokens(1100, 140), tokens(100, 40))), [60, 40, 105, 1000])
  const warned = new CodexSpending({ resumed: true })
  warned.past(usage(tokens(1000, 100), tokens(1, 0)))
  assert.deepEqual(counted(warned, usage(tokens(1100, 140), tokens(100, 40))), [60, 40, 105, 1000])
})
