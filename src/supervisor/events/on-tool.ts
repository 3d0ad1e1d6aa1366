import type { SessionEvent } from '../../domain/session.ts'
import { workDirectory } from '../../domain/workspace/work-directory.ts'
import type { Run, Step } from '../run.ts'
import { targetOf } from '../target-of.ts'
import { byAgent, eventOf } from './agent-event.ts'
import { capInput, capText } from './cap.ts'

interface Call {
  callId: string
  tool: string
  input: Record<string, unknown>
  agentId?: string | undefined
}

/**
 * A tool is called. The agent's stream and the question whether it may both tell of a call, in either order; the first one
 * stores it.
 */
export function onToolRequest(event: Call, run: Run): Step {
  if (run.calls.has(event.callId)) return { events: [], patch: {} }
  const target = targetOf(event.input, workDirectory(run.row))
  run.calls.set(event.callId, { tool: event.tool, target })
  run.callWaiters.get(event.callId)?.()
  const body = { call_id: event.callId, tool: event.tool, target, input: capInput(event.input), ...byAgent(event) }
  return {
    events: [eventOf(run, 'tool.requested', body)],
    patch: { activity: activePlanItem(run) ?? (target === '' ? event.tool : `${event.tool} ${target}`) },
  }
}

/** A tool came back, or was refused. */
export function onToolResult(event: Extract<SessionEvent, { kind: 'tool_result' }>, run: Run): Step {
  const call = run.calls.get(event.callId) ?? { tool: '', target: '' }
  const body = { call_id: event.callId, ...call, ok: event.ok, output: capText(event.output), ...byAgent(event) }
  return { events: [eventOf(run, 'tool.finished', body)], patch: {} }
}

function activePlanItem(run: Run): string | undefined {
  return run.row.plan.find(item => item.state === 'active')?.text
}
