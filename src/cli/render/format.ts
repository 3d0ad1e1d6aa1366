import { twoDigits } from '../../base/clock.ts'
import type { SessionStatus, SessionView } from '../../domain/api.ts'
import { firstLine, type Tone } from './text.ts'

/** The glyph and colour of each state, wherever it is shown. */
export const LOOKS = {
  still: { glyph: '○', tone: 'dim' },
  next: { glyph: '○', tone: 'cyan' },
  works: { glyph: '●', tone: 'green' },
  checks: { glyph: '●', tone: 'cyan' },
  asks: { glyph: '●', tone: 'yellow' },
  waits: { glyph: '⏳', tone: 'yellow' },
  paused: { glyph: '⏸', tone: 'yellow' },
  done: { glyph: '✓', tone: 'green' },
  failed: { glyph: '✗', tone: 'red' },
  dropped: { glyph: '–', tone: 'dim' },
} as const satisfies Record<string, { glyph: string; tone: Tone }>

/** The glyph, word and colour of each session status. */
export const STATUS_WORDS: Record<SessionStatus, { text: string; tone: Tone }> = {
  idle: withGlyph('still', 'Idle'),
  processing: withGlyph('works', 'Running'),
  waiting_input: withGlyph('asks', 'Waiting'),
  rate_limited: withGlyph('waits', 'Limited'),
  paused: withGlyph('paused', 'Paused'),
  stopped: withGlyph('still', 'Stopped'),
  completed: withGlyph('done', 'Completed'),
  error: withGlyph('failed', 'Error'),
}

/**
 * The status of a session in words. A session that has not begun is either starting or queued; one that a person holds is
 * shown as held, not as limited.
 */
export function statusWords({ status, queued, held }: Pick<SessionView, 'status' | 'queued' | 'held'>): {
  text: string
  tone: Tone
} {
  if (status === 'rate_limited' && held) return withGlyph('paused', 'Held')
  if (status !== 'idle') return STATUS_WORDS[status]
  return withGlyph('still', queued ? 'Queued' : 'Starting')
}

/** `queued, it waits for a free slot`, or what else keeps its agent from starting. */
export function queuedText({ reason }: Pick<SessionView, 'reason'>): string {
  return `queued, it ${reason === null ? 'waits' : firstLine(reason)}`
}

/** `s-3fa91c (night)`: the id and the name. */
export function nameOf({ id, name }: { id: string; name: string }): string {
  return `${id} (${firstLine(name)})`
}

/** `1 turn`, `2 turns`. */
export function counted(count: number, thing: string): string {
  return `${count} ${count === 1 ? thing : `${thing}s`}`
}

/** Whether a session has ended. One whose daemon died has the status `error` but no end time; it is over too. */
export function hasEnded(session: { status: SessionStatus; ended_at: number | null }): boolean {
  return session.ended_at !== null || session.status === 'error'
}

/** `45K`, `1.2M`, `830`. */
export function shortCount(count: number): string {
  if (count < 1000) return String(count)
  if (count < 999_500) return `${Math.round(count / 1000)}K`
  return `${(count / 1_000_000).toFixed(1)}M`
}

/** `45,231` */
export function fullCount(count: number): string {
  return String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, ',')
}

/** `2h 15m`, `3m 12s`, `4.2s` */
export function duration(ms: number): string {
  const seconds = Math.max(0, ms) / 1000
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)}s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes}m ${Math.floor(seconds % 60)}s`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours}h ${minutes % 60}m` : `${Math.floor(hours / 24)}d ${hours % 24}h`
}

/** The remaining time as a clock: `12:34`, `1:02:03`, `6d 3:12:05`. */
export function countdown(ms: number): string {
  const seconds = Math.ceil(Math.max(0, ms) / 1000)
  const [days, hours, minutes] = [86_400, 3600, 60].map(unit => Math.floor(seconds / unit))
  const clock = `${twoDigits((minutes ?? 0) % 60)}:${twoDigits(seconds % 60)}`
  if (!hours) return clock
  return `${days ? `${days}d ` : ''}${hours % 24}:${clock}`
}

/** `5m ago`, `2h ago`: one unit is precise enough. */
export function ago(ms: number): string {
  return ms < 60_000 ? 'just now' : `${age(ms)} ago`
}

/** `30s`, `5m`, `2h`, `3d` */
export function age(ms: number): string {
  const minutes = Math.floor(Math.max(0, ms) / 60_000)
  if (minutes < 1) return `${Math.floor(Math.max(0, ms) / 1000)}s`
  if (minutes < 60) return `${minutes}m`
  return minutes < 48 * 60 ? `${Math.floor(minutes / 60)}h` : `${Math.floor(minutes / 60 / 24)}d`
}

/** `$0.42`; a small cost has four decimals, and a cost that was never reported is `unknown`. */
export function money(usd: number | null): string {
  if (usd === null) return 'unknown'
  return `$${usd.toFixed(usd > 0 && usd < 0.1 ? 4 : 2)}`
}

/** A path as a person writes it: relative to the current directory, relative to home, or absolute. */
export function shownPath(path: string, cwd: string, home: string | undefined): string {
  if (path === cwd) return '.'
  if (cwd !== '/' && path.startsWith(`${cwd}/`)) return `./${path.slice(cwd.length + 1)}`
  return home && path.startsWith(`${home}/`) ? `~/${path.slice(home.length + 1)}` : path
}

function withGlyph(look: keyof typeof LOOKS, word: string): { text: string; tone: Tone } {
  const { glyph, tone } = LOOKS[look]
  return { text: `${glyph} ${word}`, tone }
}

/**
 * The command that resumes a session. Empty if the session resumes by itself or is done, and if the reason that was shown
 * names the command already.
 */
export function commandsToResume(session: SessionView, shownReason: string | null = session.reason): string[] {
  if (!hasEnded(session) || session.status === 'completed') return []
  if (session.status === 'waiting_input') return [`pcc attach ${session.id}`]
  if (session.resumes_at !== null || /\bpcc (resume|retry) /.test(shownReason ?? '')) return []
  return [resumeCommand(session)]
}

/** The command that resumes a session in its own conversation. */
export function resumeCommand({ id }: Pick<SessionView, 'id'>): string {
  return `pcc resume ${id}`
}

/** Names projects by their folders; of two with one name, also by the folders above, until the names differ. */
export function nameProjects(projects: Iterable<string>): (project: string) => string {
  const all = [...new Set(projects)]
  const lastParts = (path: string, count: number) => path.split('/').filter(Boolean).slice(-count).join('/')
  return project => {
    const others = all.filter(other => other !== project)
    const depth = project.split('/').length
    for (let count = 1; count < depth; count += 1) {
      const name = lastParts(project, count)
      if (others.every(other => lastParts(other, count) !== name)) return name
    }
    return lastParts(project, depth) || project
  }
}
