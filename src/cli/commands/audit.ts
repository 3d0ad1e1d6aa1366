import type { Command } from 'commander'
import { dateTime, ownZone, PAST_TIMES } from '../../base/clock.ts'
import { neutral } from '../../base/neutral.ts'
import type { AuditEntry } from '../../domain/access.ts'
import type { Incident } from '../../domain/escalation.ts'
import { parseSince } from '../../tasks/schedules.ts'
import { openClient } from '../connection/client.ts'
import { commandContext } from '../context.ts'
import { optionParser } from '../options.ts'
import { firstLine, pad } from '../render/text.ts'

interface AuditOptions {
  since?: number
  by?: string
  limit: number
}

/** `pcc audit`: who changed what, over the socket and over the API. */
export function addAuditCommand(program: Command): void {
  const audit = program
    .command('audit')
    .enablePositionalOptions()
    .description('Show who changed what, you and other programs; nobody can change this list')
    .option('--since <time>', `only since: ${PAST_TIMES}`, text => parseSince(text, ownZone(), Date.now()))
    .option('--by <name>', 'only changes made with this key; "you" for your own')
    .option('--limit <n>', 'show at most n entries, the newest', limitOption, 50)
    .option('--json', 'print JSON')
    .action(async ({ since, by, limit }: AuditOptions, command: Command) => {
      const context = await commandContext(command)
      const client = await openClient(context.paths, context)
      const query = new URLSearchParams({
        ...(since !== undefined && { since: String(since) }),
        ...(by !== undefined && { caller: by }),
        limit: String(limit),
      })
      const { entries } = await client.request<{ entries: AuditEntry[] }>('GET', `/audit?${query}`)
      if (context.json) return context.out(JSON.stringify({ entries }, null, 2))
      if (entries.length === 0) return context.out('Nothing was changed.')
      for (const line of auditLines(entries.toReversed())) context.out(line)
    })
  addIncidents(audit)
}

/** `pcc audit incidents` */
function addIncidents(audit: Command): void {
  audit
    .command('incidents')
    .description('List recoveries that failed after their retries, the newest first')
    .option('--since <time>', `only since: ${PAST_TIMES}`, text => parseSince(text, ownZone(), Date.now()))
    .option('--json', 'print JSON')
    .action(async ({ since }: { since?: number }, command: Command) => {
      const context = await commandContext(command)
      const client = await openClient(context.paths, context)
      const query = since === undefined ? '' : `?since=${since}`
      const listed = await client.request<{ incidents: Incident[] }>('GET', `/incidents${query}`)
      if (context.json) return context.out(JSON.stringify(listed, null, 2))
      if (listed.incidents.length === 0) return context.out('Every recovery has worked.')
      for (const line of listed.incidents.map(incidentLine)) context.out(line)
    })
}

export function incidentLine({ number, at, count, session_id, reason, over }: Incident): string {
  const times = count > 1 ? `, ${count} times` : ''
  const state = over === null ? `waits for you: pcc respond ${number}` : over
  return neutral(`${dateTime(at)}  ${session_id}${times}  ${firstLine(reason)}  (${firstLine(state)})`)
}

const limitOption = optionParser(
  text => (/^[1-9]\d{0,3}$/.test(text) && Number(text) <= 1_000 ? Number(text) : undefined),
  'It must be a number from 1 to 1000.',
)

/** One line for each, the newest last, as in a log. */
export function auditLines(entries: readonly AuditEntry[]): string[] {
  const widest = Math.max(...entries.map(({ caller }) => caller.length))
  return entries.map(({ time, caller, via, action, target, failed }) => {
    const how = failed === null ? '' : `  refused with ${failed}`
    const what = target === '' ? action : `${action}  ${target}`
    const line = `${dateTime(time)}  ${pad(caller, widest)}  ${pad(via, 'socket'.length)}  ${what}${how}`
    return neutral(line.replaceAll('\n', '␊')) // a caller chooses what a path contains
  })
}
