import { momentMs } from '../../scenario/moment.ts'
import type { RateLimits } from '../../scenario/schema.ts'

const WINDOWS = { five_hour: { place: 'primary', minutes: 300 }, seven_day: { place: 'secondary', minutes: 10_080 } }
type Name = keyof typeof WINDOWS

/** The headers in which Codex learns how much of its windows is used. */
export function usageHeaders(limits: RateLimits, now: number): Record<string, string> {
  const names: Name[] = ['five_hour', 'seven_day']
  const headers = names.map(name => {
    const window = limits[name]
    if (!window) return {}
    const resetsAt = Math.ceil((momentMs(window.resets, now) ?? now) / 1000)
    return windowHeaders(name, { used: window.utilization, resetsAt })
  })
  return Object.assign({}, ...headers)
}

/** The headers of an account whose window is used up; the other one is half used. */
export function usedUpHeaders(claim: string, resetsAt: number): Record<string, string> {
  const [full, other]: Name[] = claim === 'seven_day' ? ['seven_day', 'five_hour'] : ['five_hour', 'seven_day']
  return {
    ...windowHeaders(full ?? 'five_hour', { used: 1, resetsAt }),
    ...windowHeaders(other ?? 'seven_day', { used: 0.5, resetsAt: resetsAt + 86_400 }),
  }
}

function windowHeaders(name: Name, { used, resetsAt }: { used: number; resetsAt: number }): Record<string, string> {
  const { place, minutes } = WINDOWS[name]
  return {
    [`x-codex-${place}-used-percent`]: String(Math.round(used * 1000) / 10),
    [`x-codex-${place}-window-minutes`]: String(minutes),
    [`x-codex-${place}-reset-at`]: String(resetsAt),
  }
}
