import type { History } from './history.ts'

/** Everything that is known of a round in the order it happened, for who looks into a violation. */
export function storyOf({ events, calls, faults, deaths, ledgers, notices, rows }: History): string {
  const nameOf = (id: string) =>
    rows.sessions
      .find(row => row.id === id)
      ?.project.split('/')
      .at(-1) ?? id
  const lines = [
    ...events
      .filter(({ kind }) => !QUIET.has(kind))
      .map(({ time, subject, kind, body }) => ({
        at: time,
        told: `${nameOf(subject)} ${kind} ${JSON.stringify(body).slice(0, 180)}`,
      })),
    ...calls.map(({ at, turn, response, conversation }) => ({
      at,
      told: `vendor ${turn ?? '-'} ${response} ${conversation.slice(0, 8)}`,
    })),
    ...faults.map(({ at, kind, session, hit }) => ({
      at,
      told: `FAULT ${kind} ${session ?? ''} ${hit ? '' : '(nothing to hit)'}`,
    })),
    ...notices.map(({ at, title }) => ({ at, told: `NOTICE ${title}` })),
    ...deaths.map(at => ({ at, told: 'DAEMON GONE' })),
    ...Object.values(ledgers).flatMap(ledger =>
      ledger.map(line => ({ at: Number(line.split(' ')[2]), told: `tool ${line.split(' ').slice(0, 2).join(' ')}` })),
    ),
  ].sort((a, b) => a.at - b.at)
  const began = lines[0]?.at ?? 0
  return lines.map(({ at, told }) => `${String(at - began).padStart(7)} ${told}\n`).join('')
}

const QUIET = new Set(['usage.reported', 'plan.changed', 'agent.said', 'agent.thought'])
