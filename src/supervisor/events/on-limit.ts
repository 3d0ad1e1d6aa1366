import { isHigher, levelAt, type QuotaLevel, type QuotaWindow, windowsIn } from '../../domain/account/quota.ts'
import type { SessionEvent } from '../../domain/session.ts'
import type { Run, Step } from '../run.ts'
import { eventOf } from './agent-event.ts'

type LimitEvent = Extract<SessionEvent, { kind: 'limit' }>

/**
 * How full the vendor's windows are. Of each window it is told once that it comes to a level, not again with every answer.
 * Only a refusal stops anything, and the end of the turn tells of that.
 */
export function onLimit(event: LimitEvent, run: Run): Step {
  if (event.status === 'rejected') return { events: [], patch: {} }
  const told = windowsIn(event, 0)
  if (told.length === 0) return { events: vagueWarning(event, run), patch: {} }
  const events = told
    .filter(window => isNews(window, event, run))
    .map(({ window, utilization, resets_at }) =>
      eventOf(run, 'limit.warned', {
        window,
        utilization,
        ...(resets_at === null ? {} : { resets_at }),
        ...(event.windows === undefined ? {} : { windows: event.windows }),
      }),
    )
  return { events, patch: {} }
}

/** The vendor warns without a number, or without saying of which window. */
function vagueWarning({ status, window, utilization, resetsAt }: LimitEvent, run: Run): Step['events'] {
  const name = window ?? ''
  if (status !== 'warning' || run.warned.has(name)) return []
  run.warned.set(name, 'notice')
  const body = {
    ...(window === undefined ? {} : { window }),
    ...(utilization === undefined ? {} : { utilization }),
    ...(resetsAt === undefined ? {} : { resets_at: resetsAt }),
  }
  return [eventOf(run, 'limit.warned', body)]
}

/** From our own warning level on, and where the vendor itself warns. */
function isNews({ window, utilization }: QuotaWindow, event: LimitEvent, run: Run): boolean {
  const ours = levelAt(utilization, run.quota.thresholds)
  const isVendors = event.status === 'warning' && event.window === window
  const level: QuotaLevel = isVendors && !isHigher(ours, 'notice') ? 'notice' : ours
  const before = run.warned.get(window) ?? 'ok'
  run.warned.set(window, level)
  return isHigher(level, before) && (isVendors || isHigher(level, 'notice'))
}
