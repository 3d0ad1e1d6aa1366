import type { History } from './history.ts'

/** Everything that is known about a round in order of time, to investigate a violation. */
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
        text: `${nameOf(subject)} ${kind} ${JSON.stringify(body).slice(0, 180)}`,
      })),
    ...calls.map(({ at, turn, response, conversation }) => ({
      at,
      text: `vendor ${turn ?? '-'} ${response} ${conversation.slice(0, 8)}`,
    })),
    ...faults.map(({ at, kind, session, hit }) => ({
      at,
      text: `FAULT ${kind} ${session ?? ''} ${hit ? '' : '(nothing to hit)'}`,
    })),
    ...notices.map(({ at, title }) => ({ at, text: `NOTICE ${title}` })),
    ...deaths.map(at => ({ at, text: 'DAEMON GONE' })),
    ...Object.values(ledgers).flatMap(ledger =>
      ledger.map(line => ({ at: Number(line.split(' ')[2]), text: `tool ${line.split(' ').slice(0, 2).join(' ')}` })),
    ),
  ].sort((a, b) => a.at - b.at)
  const start = lines[0]?.at ?? 0
  return lines.map(({ at, text }) => `${String(at - start).padStart(7)} ${text}\n`).join('')
}

const QUIET = new Set(['usage.reported', 'plan.changed', 'agent.said', 'agent.thought'])
