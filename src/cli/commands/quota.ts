import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import { dateTime, wakeTime } from '../../base/clock.ts'
import { AppError } from '../../base/errors.ts'
import { neutral } from '../../base/neutral.ts'
import type { SessionView } from '../../domain/api.ts'
import { FAULTS, faultOf } from '../../domain/limit.ts'
import { windowName } from '../../domain/option-values.ts'
import {
  matchAccounts,
  type QuotaForecast,
  type QuotaLevel,
  type QuotaView,
  type QuotaWindow,
  type TriedAccount,
  type WaitingSession,
} from '../../domain/quota.ts'
import { openClient } from '../connection/client.ts'
import { type DaemonConnection, sessionPath } from '../connection/connection.ts'
import { type CommandContext, commandContext } from '../context.ts'
import { openScreen } from '../live/terminal.ts'
import { refuseInSession } from '../options.ts'
import { ago, counted, nameOf, STATUS_WORDS, shortCount } from '../render/format.ts'
import { firstLine, pad, type Terminal, type Tone, wrap } from '../render/text.ts'

interface HoldOptions {
  account?: string
  now?: boolean
}

/** `pcc quota`: shows how full the accounts are, and lets a person hold and release them. */
export function addQuotaCommand(program: Command): void {
  const quota = program
    .command('quota')
    .description('Show how full your accounts are, what follows from it, and which sessions wait')
    .option('--watch', 'keep showing it until Ctrl+C')
    .option('--json', 'print JSON; with --watch one line for each change')
    .action(async ({ watch }: { watch?: boolean }, command: Command) => {
      const context = await commandContext(command)
      const client = await openClient(context.paths, context)
      if (watch) return watchQuota(client, context)
      const view = await client.request<QuotaView>('GET', '/quota')
      if (context.json) return context.out(JSON.stringify(view, null, 2))
      for (const line of quotaPage(view, context.terminal)) context.out(line)
    })
  addHoldCommand(quota, 'hold', 'Keep sessions from going on by themselves: one, those of an account, or all')
  addHoldCommand(quota, 'release', 'Let them go on again').option(
    '--now',
    'also open accounts that a limit has closed, and try them: the limit is over early',
  )
}

function addHoldCommand(quota: Command, name: 'hold' | 'release', description: string): Command {
  return quota
    .command(name)
    .description(description)
    .argument('[session]', 'id, unique beginning of an id, or name; "all" is the default', 'all')
    .option('--account <account>', 'all sessions of this account: its id, or a part of its label')
    .option('--json', 'print JSON')
    .action(async (ref: string, { account, now }: HoldOptions, command: Command) => {
      const usage = (problem: string) => new AppError('usage', { problem, command: `quota ${name}` })
      if (account !== undefined && ref !== 'all') throw usage('give a session or --account, not both')
      if (now && ref !== 'all') throw usage('--now is for accounts: a limit holds for all sessions of one')
      const { paths, json, out, ...context } = await commandContext(command)
      refuseInSession(context.env, `quota ${name}`)
      const client = await openClient(paths, context)
      const holds = name === 'hold'
      if (ref !== 'all') {
        const path = await sessionPath(ref)
        const before = await client.request<SessionView>('GET', path)
        const session = await client.request<SessionView>('POST', `${path}/hold`, { held: holds })
        if (json) return out(JSON.stringify(session, null, 2))
        const outcome = holds || before.held === 'session' ? verb(holds) : 'It was not held'
        return out(`${outcome}: ${nameOf(session)}`)
      }
      const body = { ...(account !== undefined && { account }), ...(now && { now }) }
      const before = await client.request<QuotaView>('GET', '/quota')
      const view = await client.request<QuotaView>('POST', `/quota/${name}`, body)
      if (json) return out(JSON.stringify(view, null, 2))
      const outcome = holds || now || isHeld(before, account) ? verb(holds) : 'Nothing was held'
      out(`${outcome}: ${account === undefined ? 'all accounts' : firstLine(account)}`)
      const flag = account === undefined ? '' : ` --account ${firstLine(account)}`
      if (holds) return out(`Let it go with: pcc quota release${flag}`)
      for (const line of releaseLines(view, account)) out(line)
    })
}

function isHeld({ hold, accounts }: QuotaView, account: string | undefined): boolean {
  return account === undefined ? hold !== null : matchAccounts(account, accounts).some(({ gate }) => gate?.held)
}

function verb(holds: boolean): string {
  return holds ? 'Held' : 'Released'
}

const POLL_MS = 2_000

/** Redraws the page in place until Ctrl+C; without a terminal it is printed again whenever it changes. */
async function watchQuota(client: DaemonConnection, { json, terminal, out }: CommandContext): Promise<void> {
  const leave = new AbortController()
  const interrupted = once(process, 'SIGINT', { signal: leave.signal }).then(
    () => leave.abort(),
    () => undefined, // the loop ended for another reason
  )
  const screen = openScreen(process.stdout)
  let last = ''
  try {
    while (!leave.signal.aborted) {
      const view = await client.request<QuotaView>('GET', '/quota')
      const { at: _, ...state } = view
      const page = json ? JSON.stringify(state) : quotaPage(view, terminal).join('\n')
      if (page !== last && json) out(JSON.stringify(view))
      else if (page !== last && process.stdout.isTTY) screen.pin(page.split('\n'))
      else if (page !== last) screen.print([...(last === '' ? [] : ['']), ...page.split('\n')])
      last = page
      await sleep(POLL_MS, undefined, { signal: leave.signal }).catch(() => undefined) // Ctrl+C ends the wait
    }
  } finally {
    leave.abort()
    await interrupted
  }
}

type Account = QuotaView['accounts'][number]
type ShownWindow = Account['windows'][number]

const NAME_WIDTH = 13
const INDENT = 2
const MAX_BAR_WIDTH = 30
const MIN_BAR_WIDTH = 8
/** The columns beside a bar: percent, reset and source. */
const BESIDE_BAR_WIDTH = 48
/** Further sessions are counted, not listed. */
const SESSIONS_SHOWN = 8

const LEVEL_TONES: Record<QuotaLevel, Tone> = {
  unknown: 'dim',
  ok: 'green',
  notice: 'cyan',
  warning: 'yellow',
  critical: 'red',
}

const SOURCES: Record<QuotaWindow['source'], string> = {
  vendor: 'reported by the vendor',
  ccusage: 'by ccusage, from local files',
  estimate: 'our own estimate',
}

const LEVEL_TEXT: Record<QuotaLevel, string | undefined> = {
  unknown: 'So nothing is held back.',
  ok: undefined,
  notice: 'Half as many sessions start at once.',
  warning: 'A session starts only when no other is at work.',
  critical: 'No session starts until the window resets.',
}

/** Shown if the vendor has reported nothing: an estimate is no reason for alarm. */
const ONLY_ESTIMATED =
  'unknown. This is an estimate by quota.max_tokens_per_hour; it holds nothing back (quota.gate_on_estimate).'

/** The page of `pcc quota`. */
export function quotaPage(view: QuotaView, terminal: Terminal): string[] {
  const hold = view.hold
    ? [terminal.paint('yellow', `Everything is held by ${firstLine(view.hold.by)} since ${dateTime(view.hold.at)}.`)]
    : []
  const release = view.hold ? ['Let it go with: pcc quota release', ''] : []
  if (view.accounts.length === 0) return [...hold, ...release, 'Nothing is known yet: no session has used an account.']
  const pages = view.accounts.map(account => accountLines(account, { at: view.at, terminal }))
  return [...hold, ...release, ...pages.flatMap((lines, index) => (index === 0 ? lines : ['', ...lines]))]
}

interface PageContext {
  at: number
  terminal: Terminal
}

function accountLines(account: Account, page: PageContext): string[] {
  const { terminal, at } = page
  const title = `${terminal.paint('bold', firstLine(account.label))} ${terminal.paint('dim', `(${account.account.slice(0, 6)})`)}`
  return [
    title,
    ...account.windows.flatMap(window => windowLines(window, account, page)),
    ...account.past.map(({ window, resets_at }) =>
      formatRow(
        windowName(window),
        terminal.paint('dim', `reset ${wakeTime(resets_at ?? at, at)}, nothing reported since`),
      ),
    ),
    ...account.notes.flatMap(text => formatWrapped('', neutral(text), { terminal, tone: 'dim' })),
    ...levelLines(account, page),
    ...gateLines(account, page),
    ...waitingLines(account.waiting, page),
  ]
}

function windowLines(window: ShownWindow, { level }: Account, { terminal, at }: PageContext): string[] {
  const isIgnored = window.source === 'estimate' && level === 'unknown'
  const tone = isIgnored ? 'dim' : LEVEL_TONES[window.level]
  const percent = `${Math.round(window.utilization * 100)}%`.padStart(4)
  const reset = window.resets_at === null ? '' : `  resets ${wakeTime(window.resets_at, at)}`
  const age = window.source === 'estimate' ? '' : `, ${ago(at - window.at)}`
  const source = terminal.paint('dim', `  ${SOURCES[window.source]}${age}`)
  // Our own count that holds nothing back is no share of anything.
  if (isIgnored && window.tokens !== undefined)
    return [formatRow(windowName(window.window), `${shortCount(window.tokens)} tokens${source}`)]
  const bar = terminal.paint(tone, drawBar(window.utilization, terminal.width))
  const forecast = describeForecast(window.forecast, at)
  return [
    formatRow(windowName(window.window), `${bar} ${percent}${reset}${source}`),
    ...(forecast === undefined ? [] : [formatRow('', terminal.paint('dim', forecast))]),
  ]
}

/** Filled from the left. Any use fills at least one cell; only a full window fills the last one. */
function drawBar(used: number, width: number): string {
  const room = Math.max(MIN_BAR_WIDTH, Math.min(MAX_BAR_WIDTH, width - INDENT - NAME_WIDTH - BESIDE_BAR_WIDTH))
  const share = Math.max(0, Math.min(1, used))
  const filled = share >= 1 ? room : Math.min(room - 1, Math.ceil(share * room))
  return '█'.repeat(filled) + '░'.repeat(room - filled)
}

/** As in `at this pace full at 16:40`. */
function describeForecast(forecast: QuotaForecast | null, now: number): string | undefined {
  if (!forecast) return undefined
  const { full_at, at_reset, per_hour } = forecast
  const pace = `${(per_hour * 100).toFixed(per_hour < 0.1 ? 1 : 0)}% an hour`
  if (full_at !== null) return full_at <= now ? 'full' : `at this pace (${pace}) full at ${wakeTime(full_at, now)}`
  if (at_reset !== null) return `at this pace (${pace}) ${Math.round(at_reset * 100)}% used when it resets`
  return 'nothing used recently'
}

function levelLines({ level, warns, windows, eases_at }: Account, { terminal, at }: PageContext): string[] {
  const isEstimate = windows.every(({ source }) => source === 'estimate')
  if (level === 'unknown' && isEstimate && warns !== 'ok' && warns !== 'unknown')
    return formatWrapped('Level', ONLY_ESTIMATED, { terminal, tone: 'dim' })
  const text = LEVEL_TEXT[level]
  if (text === undefined) return []
  const until = level === 'critical' && eases_at !== null ? ` Checked again ${wakeTime(eases_at, at)}.` : ''
  return formatWrapped('Level', `${level}. ${text}${until}`, { terminal, tone: LEVEL_TONES[level] })
}

const GUESSED = {
  probe: 'no reset is known; tried again',
  login: 'needs a login; tried again',
  credit: 'needs credit; tried again',
}

function gateLines({ gate, account, waiting }: Account, { terminal, at }: PageContext): string[] {
  const lines: string[] = []
  const isClosed = gate && gate.closed_until !== null && gate.closed_until > at
  if (isClosed) {
    const why = gate.reason ? `: ${firstLine(gate.reason)}` : ''
    const how = gate.source === 'record' ? 'closed until' : GUESSED[gate.source ?? 'probe']
    lines.push(
      ...formatWrapped('Gate', `${how} ${wakeTime(gate.closed_until ?? at, at)}${why}`, { terminal, tone: 'yellow' }),
    )
  }
  if (gate?.held) {
    const since = gate.held_at === null ? '' : ` since ${wakeTime(gate.held_at, at)}`
    const text = `held by ${firstLine(gate.held_by ?? 'a person')}${since}; pcc quota release --account ${account.slice(0, 6)}`
    lines.push(...formatWrapped(isClosed ? '' : 'Gate', text, { terminal, tone: 'yellow' }))
  }
  // A fault is over when a call has succeeded, not when the account is tried.
  const fault = gate && !isClosed ? faultOf(gate) : undefined
  if (fault) {
    const when = waiting.length === 0 ? 'it is tried at its next use' : 'it is being tried'
    const text = `needs ${FAULTS[fault].needs}; ${when}: ${firstLine(gate?.reason ?? '')}`
    lines.push(...formatWrapped(lines.length > 0 ? '' : 'Gate', text, { terminal, tone: 'yellow' }))
  }
  return lines.length > 0 ? lines : [formatRow('Gate', terminal.paint('green', 'open'))]
}

function waitingLines(waiting: WaitingSession[], { terminal, at }: PageContext): string[] {
  if (waiting.length === 0) return []
  const shown = waiting.slice(0, SESSIONS_SHOWN)
  const rest = waiting.length - shown.length
  return [
    formatRow('Waiting', counted(waiting.length, 'session')),
    ...shown.map(session => formatRow('', describeWaiting(session, at))),
    ...(rest > 0 ? [formatRow('', terminal.paint('dim', `and ${rest} more: pcc list`))] : []),
  ]
}

function describeWaiting({ id, name, status, resumes_at, held }: WaitingSession, at: number): string {
  const who = `${id} (${firstLine(name)})`
  if (held) return `${who} is held: pcc quota release ${id}`
  if (resumes_at !== null) return `${who} goes on ${resumes_at <= at ? 'now' : `at ${wakeTime(resumes_at, at)}`}`
  if (status === 'idle') return `${who} waits for a place`
  return `${who} ${STATUS_WORDS[status].text.replace(/^\S+ /, '').toLowerCase()}: pcc resume ${id}`
}

function formatRow(name: string, text: string): string {
  return `${' '.repeat(INDENT)}${pad(name, NAME_WIDTH)}${text}`
}

function formatWrapped(name: string, text: string, { terminal, tone }: { terminal: Terminal; tone: Tone }): string[] {
  const lines = wrap(text, terminal.width - INDENT - NAME_WIDTH)
  return lines.map((line, index) => formatRow(index === 0 ? name : '', terminal.paint(tone, line)))
}

/** The result of `pcc quota release`: which sessions go on, or what still keeps the accounts closed. */
function releaseLines(view: QuotaView, ref: string | undefined): string[] {
  const { tried, hold } = view
  const holdLines = hold ? ['Nothing goes on while everything is held. Let it go with: pcc quota release'] : []
  if (tried?.length === 0) return ['No limit keeps it closed, and nobody waits for it.', ...holdLines]
  if (tried) return [...tried.map(each => triedLine(each, view)), ...holdLines]
  const accounts = ref === undefined ? view.accounts : matchAccounts(ref, view.accounts)
  return [...accounts.flatMap(account => [...heldLines(account), ...closedLines(account, view.at)]), ...holdLines]
}

function triedLine({ account, sessions }: TriedAccount, { accounts }: QuotaView): string {
  const label = firstLine(accounts.find(each => each.account === account)?.label ?? account)
  const [first, ...others] = sessions
  if (first === undefined) return `${label} is open. No session waits to go on by itself.`
  const after = others.length === 0 ? '' : ` ${counted(others.length, 'more session')} after it, if it gets through.`
  return `${label} is open. Tried now by ${first}.${after}`
}

/** A release of everything does not release an account that is held separately. */
function heldLines({ account, label, gate }: QuotaView['accounts'][number]): string[] {
  return gate?.held
    ? [`${firstLine(label)} is held separately: pcc quota release --account ${account.slice(0, 6)}`]
    : []
}

function closedLines({ account, label, gate }: QuotaView['accounts'][number], at: number): string[] {
  if (!gate || gate.closed_until === null || gate.closed_until <= at) return []
  return [
    `${faultOf(gate) ? firstLine(gate.reason ?? '') : 'A limit'} keeps ${firstLine(label)} closed until ${wakeTime(gate.closed_until, at)}.`,
    `Is it over already? Try now: pcc quota release --account ${account.slice(0, 6)} --now`,
  ]
}
