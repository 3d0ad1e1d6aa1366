import { onToolRequest } from '../events/on-tool.ts'
import { record } from '../record.ts'
import type { Parts, Run } from '../run.ts'

interface Call {
  callId: string
  tool: string
  input: Record<string, unknown>
  agentId?: string | undefined
}

/**
 * The agent's stream tells of a call just before the question whether it may, but is stored a moment later. Waiting for it
 * keeps the log in the order of what happened; a call the stream does not tell of is stored from the question.
 */
export async function callStored(call: Call, { run, parts }: { run: Run; parts: Parts }): Promise<void> {
  if (run.calls.has(call.callId)) return
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, STREAM_GRACE_MS)
  run.callWaiters.set(call.callId, resolve)
  await promise
  clearTimeout(timer)
  run.callWaiters.delete(call.callId)
  await record(run, parts, onToolRequest(call, run))
}

/** The stream is a few milliseconds behind at most; a call that is not in it must not wait long. */
const STREAM_GRACE_MS = 100
