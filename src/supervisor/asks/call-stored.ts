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
  // What came before the call may stop the session, and a busy machine is late with it: then the grace has not begun yet.
  let graces = 0
  const timer = setInterval(() => {
    graces += 1
    if (!run.hearing || run.over || graces >= MOST_GRACES) resolve()
  }, STREAM_GRACE_MS)
  run.callWaiters.set(call.callId, resolve)
  await promise
  clearInterval(timer)
  run.callWaiters.delete(call.callId)
  await record(run, parts, onToolRequest(call, run))
}

/** The stream is a few milliseconds behind at most; a call that is not in it must not wait long. */
const STREAM_GRACE_MS = 100
/** A stream that stands still for so long has another trouble than a busy machine. */
const MOST_GRACES = 100
