import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EventOf } from '../../../src/domain/event.ts'
import type { Failure } from '../../../src/domain/session.ts'
import { onRetry } from '../../../src/supervisor/events/on-trouble.ts'
import { aRun } from '../a-run.ts'

function told(failure: Failure, env: Record<string, string>): string {
  const run = aRun()
  run.open = { ...run.open, env }
  run.driver = { ...run.driver, agent: 'claude' }
  const [event] = onRetry({ kind: 'retry', attempt: 1, maxRetries: 10, delayMs: 500, failure }, run).events
  return (event as EventOf<'agent.retried'>).body.failure.message
}

test('where no answer came, the address is named, without what a password may stand in', () => {
  const failure = { kind: 'network', message: 'it failed' } as const
  const env = { ANTHROPIC_BASE_URL: 'http://me:s3cret@127.0.0.1:9/path' }
  assert.equal(told(failure, env), 'no answer from 127.0.0.1:9: it failed')
  assert.equal(told(failure, {}), 'no answer from api.anthropic.com: it failed')
})

test('a failure that the vendor told of keeps its words', () => {
  const failure = { kind: 'overloaded', message: 'Overloaded', status: 529 } as const
  assert.equal(told(failure, { ANTHROPIC_BASE_URL: 'http://127.0.0.1:9' }), 'Overloaded')
})
