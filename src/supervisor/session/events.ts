import { unreachable } from '../../base/errors.ts'
import { DEFAULT_AGENT } from '../../domain/agent-choice.ts'
import { findManifest } from '../../domain/agents/find-manifest.ts'
import { isHigherLevel, levelAt, type QuotaLevel, type QuotaWindow, windowsIn } from '../../domain/quota.ts'
import type { Failure, SessionEvent } from '../../domain/session.ts'
import { vendorHost } from '../../domain/vendors.ts'
import { workDirectory } from '../../domain/worktree.ts'
import { purposeOf } from '../guards/spending.ts'
import { sigilsForRun } from './apply-sigils.ts'
import { agentFields, eventOf, type LiveSession, type SessionContext, type SessionUpdate } from './context.ts'
import { record } from './record.ts'
import { capInput, capText, targetOf } from './tool-call.ts'

/** Nothing to store. */
const NO_STEP: SessionUpdate = { events: [], patch: {} }

/** Turns an event of the agent into an update. The handlers write nothing themselves: `record` does. */
export function stepForEvent(event: SessionEvent, live: LiveSession): SessionUpdate {
  switch (event.kind) {
    case 'started':
      return onStarted(event, live)
    case 'text':
      return onSaid(event, live)
    case 'thinking':
      return onThought(event, live)
    case 'tool_request':
      return onToolRequest(event, live)
    case 'tool_result':
      return onToolResult(event, live)
    case 'question':
      return NO_STEP // the driver asks it through `Asks`, which stores it
    case 'plan':
      return onPlan(event, live)
    case 'usage':
      return onUsage(event, live)
    case 'limit':
      return onLimit(event, live)
    case 'retry':
      return onRetry(event, live)
    case 'compacting':
      return onCompacting(event, live)
    case 'turn_ended':
      return onTurnEnded(event, live)
    case 'ended':
      return NO_STEP // `think` decides what it means
    default:
      return unreachable(event)
  }
}

/** The agent has started: a resume needs its conversation id, so that is stored at once. Every turn begins with this event. */
function onStarted(event: Extract<SessionEvent, { kind: 'started' }>, live: LiveSession): SessionUpdate {
  const isKnown = live.row.state !== 'starting' && live.row.vendor_id === event.vendorId
  const started = {
    vendor_id: event.vendorId,
    model: event.model,
    resumed: event.resumed,
    sandboxed: live.settings.open.sandbox !== undefined,
    ...(event.version === undefined ? {} : { version: event.version }),
  }
  const warning = isKnown ? undefined : warnOfVersion(event.version, live)
  return {
    events: [
      ...(isKnown ? [] : [eventOf(live, 'agent.started', started)]),
      ...(warning === undefined ? [] : [eventOf(live, 'session.noted', { text: warning }, 'daemon')]),
    ],
    patch: {
      vendor_id: event.vendorId,
      model: event.model,
      ...(live.row.state === 'starting' ? { state: 'running' as const } : {}),
    },
  }
}

/** Each manifest was verified with some versions of its agent; one that comes with pcc has the right one. */
function warnOfVersion(version: string | undefined, { row }: LiveSession): string | undefined {
  const { start, name, verified } = findManifest(row.options.chosen ?? DEFAULT_AGENT)
  if (version === undefined || start.bundled || verified.length === 0 || verified.includes(version)) return undefined
  const seen = verified.join(', ')
  return `${name} ${version}: pcc was tested with ${seen} only. Watch it the first time (pcc agents doctor).`
}

function onSaid(event: Extract<SessionEvent, { kind: 'text' }>, live: LiveSession): SessionUpdate {
  return { events: [eventOf(live, 'agent.said', { text: capText(event.text), ...agentFields(event) })], patch: {} }
}

function onThought(event: Extract<SessionEvent, { kind: 'thinking' }>, live: LiveSession): SessionUpdate {
  return { events: [eventOf(live, 'agent.thought', { text: capText(event.text), ...agentFields(event) })], patch: {} }
}

/** The agent's list of steps changed; the active one is what the session is doing. */
function onPlan(event: Extract<SessionEvent, { kind: 'plan' }>, live: LiveSession): SessionUpdate {
  const active = event.items.find(item => item.state === 'active')?.text
  return {
    events: [eventOf(live, 'plan.changed', { items: event.items })],
    patch: { plan: event.items, ...(active === undefined ? {} : { activity: active }) },
  }
}

interface Call {
  callId: string
  tool: string
  input: Record<string, unknown>
  agentId?: string | undefined
}

/**
 * The agent requests a tool call. Both its stream and its permission request report a call, in either order; whichever comes
 * first stores it.
 */
function onToolRequest(event: Call, live: LiveSession): SessionUpdate {
  if (live.agent.calls.has(event.callId)) return { events: [], patch: {} }
  const target = targetOf(event.input, workDirectory(live.row))
  live.agent.calls.set(event.callId, { tool: event.tool, target })
  live.agent.callWaiters.get(event.callId)?.()
  const body = { call_id: event.callId, tool: event.tool, target, input: capInput(event.input), ...agentFields(event) }
  return {
    events: [eventOf(live, 'tool.requested', body)],
    patch: { activity: activePlanItem(live) ?? (target === '' ? event.tool : `${event.tool} ${target}`) },
  }
}

/** A tool call finished, or was refused. */
function onToolResult(event: Extract<SessionEvent, { kind: 'tool_result' }>, live: LiveSession): SessionUpdate {
  const call = live.agent.calls.get(event.callId) ?? { tool: '', target: '' }
  const body = { call_id: event.callId, ...call, ok: event.ok, output: capText(event.output), ...agentFields(event) }
  return { events: [eventOf(live, 'tool.finished', body)], patch: {} }
}

function activePlanItem(live: LiveSession): string | undefined {
  return live.row.plan.find(item => item.state === 'active')?.text
}

/**
 * The agent's stream reports a call just before the permission request, but is stored a moment later. Waiting for the stream
 * keeps the log in the order of what happened; a call that the stream does not report is stored from the request.
 */
export async function waitUntilCallStored(call: Call, { live, deps }: SessionContext): Promise<void> {
  if (live.agent.calls.has(call.callId)) return
  const { promise, resolve } = Promise.withResolvers<void>()
  // An earlier event may stop the session, and a busy machine may handle it late: the grace begins only after it.
  let graces = 0
  const timer = setInterval(() => {
    graces += 1
    if (!live.agent.isHandlingEvent || live.control.over || graces >= MOST_GRACES) resolve()
  }, STREAM_GRACE_MS)
  live.agent.callWaiters.set(call.callId, resolve)
  await promise
  clearInterval(timer)
  live.agent.callWaiters.delete(call.callId)
  await record(live, deps, onToolRequest(call, live))
}

/** The stream is at most a few milliseconds behind; a call that is not in it must not wait long. */
const STREAM_GRACE_MS = 100
/** A stream that stands still for this long has a problem other than a busy machine. */
const MOST_GRACES = 100

/**
 * Tokens, cost and rounds so far. The agent counts from the moment it was opened; the usage of earlier lives of the session
 * is added.
 */
function onUsage(event: Extract<SessionEvent, { kind: 'usage' }>, live: LiveSession): SessionUpdate {
  const {
    meters: { earlierUsage },
  } = live
  const context = {
    ...(event.contextTokens === undefined ? {} : { context_tokens: event.contextTokens }),
    ...(event.contextWindow === undefined ? {} : { context_window: event.contextWindow }),
  }
  const totals = {
    input_tokens: earlierUsage.input_tokens + event.inputTokens,
    output_tokens: earlierUsage.output_tokens + event.outputTokens,
    cost_usd: earlierUsage.cost_usd + event.costUsd,
  }
  const cache = { cache_read_tokens: event.cacheReadTokens, cache_write_tokens: event.cacheWriteTokens }
  const purpose = purposeOf(live)
  const what = purpose === 'work' ? {} : { purpose }
  return {
    events: [eventOf(live, 'usage.reported', { ...totals, ...cache, ...context, ...what })],
    patch: { ...totals, ...context, ...(event.turns === undefined ? {} : { turns: earlierUsage.turns + event.turns }) },
  }
}

type LimitEvent = Extract<SessionEvent, { kind: 'limit' }>

/**
 * How full the vendor's windows are. Each window is reported once per level it reaches, not again with every answer. Only a
 * refusal stops anything, and the end of the turn reports that.
 */
export function onLimit(event: LimitEvent, live: LiveSession): SessionUpdate {
  if (event.status === 'rejected') return { events: [], patch: {} }
  const windows = windowsIn(event, 0)
  if (windows.length === 0) return { events: vagueWarning(event, live), patch: {} }
  const events = windows
    .filter(window => isNews(window, event, live))
    .map(({ window, utilization, resets_at }) =>
      eventOf(live, 'limit.warned', {
        window,
        utilization,
        ...(resets_at === null ? {} : { resets_at }),
        ...(event.windows === undefined ? {} : { windows: event.windows }),
      }),
    )
  return { events, patch: {} }
}

/** The vendor warns without a number, or without naming the window. */
function vagueWarning(
  { status, window, utilization, resetsAt }: LimitEvent,
  live: LiveSession,
): SessionUpdate['events'] {
  const name = window ?? ''
  if (status !== 'warning' || live.meters.warnedLevels.has(name)) return []
  live.meters.warnedLevels.set(name, 'notice')
  const body = {
    ...(window === undefined ? {} : { window }),
    ...(utilization === undefined ? {} : { utilization }),
    ...(resetsAt === undefined ? {} : { resets_at: resetsAt }),
  }
  return [eventOf(live, 'limit.warned', body)]
}

/** Whether a window has reached a new level: our own warning level or higher, or any level where the vendor itself warns. */
function isNews({ window, utilization }: QuotaWindow, event: LimitEvent, live: LiveSession): boolean {
  const ownLevel = levelAt(utilization, live.settings.quota.thresholds)
  const isVendorWarning = event.status === 'warning' && event.window === window
  const level: QuotaLevel = isVendorWarning && !isHigherLevel(ownLevel, 'notice') ? 'notice' : ownLevel
  const before = live.meters.warnedLevels.get(window) ?? 'ok'
  live.meters.warnedLevels.set(window, level)
  return isHigherLevel(level, before) && (isVendorWarning || isHigherLevel(level, 'notice'))
}

/** The vendor failed and the agent tries again by itself. */
export function onRetry(event: Extract<SessionEvent, { kind: 'retry' }>, live: LiveSession): SessionUpdate {
  const { attempt, maxRetries, delayMs, failure } = event
  const body = { attempt, max_retries: maxRetries, delay_ms: delayMs, failure: withAddress(failure, live) }
  return { events: [eventOf(live, 'agent.retried', body)], patch: {} }
}

/** Adds the address to a network failure: it is what a person checks first. */
function withAddress(failure: Failure, { settings: { open, driver } }: LiveSession): Failure {
  if (failure.kind !== 'network') return failure
  return { ...failure, message: `no answer from ${vendorHost(open.env, driver.agent)}: ${failure.message}` }
}

/** The agent shortens its own copy of the conversation. */
function onCompacting(event: Extract<SessionEvent, { kind: 'compacting' }>, live: LiveSession): SessionUpdate {
  return { events: [eventOf(live, 'agent.compacted', { state: event.state })], patch: {} }
}

/** A turn is over; `think` and `decide` find out what that means for the session. */
function onTurnEnded(event: Extract<SessionEvent, { kind: 'turn_ended' }>, live: LiveSession): SessionUpdate {
  // The sigils are read from the whole text: they stand at its end, which may be cut off.
  const text = capText(event.text)
  const isCut = text !== event.text
  const sigils = live.row.options.run && sigilsForRun(event.text, { task: live.row.task_id, isCut })
  const body = {
    outcome: event.outcome,
    text,
    turns: event.turns,
    duration_ms: event.durationMs,
    denials: event.denials,
    ...(event.failure === undefined ? {} : { failure: event.failure }),
    ...(sigils && { sigils }),
  }
  return { events: [eventOf(live, 'turn.ended', body)], patch: { turns: live.meters.earlierUsage.turns + event.turns } }
}
