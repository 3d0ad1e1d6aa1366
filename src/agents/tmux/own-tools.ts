import type { OpenSession } from '../../domain/session.ts'
import type { CheckedAsks } from '../checked-asks.ts'
import { OwnTools } from '../own-tools/own-tools.ts'
import { findPlace, makePlace, type Place, toolProgram } from '../own-tools/place.ts'
import type { SeatFolder } from './seat.ts'

/** How Claude Code calls a tool of a server. */
const FORM = 'mcp__{server}__{tool}'

/** Tools of ours in a window: where they are called outlives the daemon, as the window does. */
export interface WindowTools {
  own: OwnTools
  place: Place
}

/** Those of a new window. Their server bears a name that no earlier one had. */
export function newTools({ ownTools = [] }: OpenSession, { path }: SeatFolder): WindowTools | undefined {
  if (ownTools.length === 0) return undefined
  const own = new OwnTools(ownTools, FORM)
  return { own, place: makePlace(path, own.server) }
}

/** Those of a window that an earlier daemon left. */
export function toolsLeft({ ownTools = [] }: OpenSession, { path }: SeatFolder): WindowTools | undefined {
  const place = findPlace(path)
  return place && { own: new OwnTools(ownTools, FORM, place.server), place }
}

/** What Claude Code is told of their server: waited for before the first prompt, and patient with a person. */
export function mcpConfig({ place }: WindowTools, { path }: SeatFolder): Record<string, unknown> {
  const server = { type: 'stdio', ...toolProgram(path), alwaysLoad: true, timeout: 24 * 3_600_000 }
  return { mcpServers: { [place.server]: server } }
}

/** A person who has the terminal is asked there, and by no tool; nothing is put off under their hands. */
export function atTerminal(asks: CheckedAsks, takenOver: () => boolean): CheckedAsks {
  const declined = 'A person has the terminal. Ask them with your own words, at the end of your turn.'
  return {
    ...asks,
    async question(question, signal) {
      const reply = takenOver() ? { declined, by: 'driver' } : await asks.question(question, signal)
      return 'park' in reply && takenOver() ? { declined, by: 'driver' } : reply
    },
    async permission(request, signal) {
      const reply = await asks.permission(request, signal)
      if (!('park' in reply) || !takenOver()) return reply
      return { verdict: 'deny', risk: 'HIGH', reason: declined, confidence: 1, by: 'driver' }
    },
  }
}
