import { setTimeout as sleep } from 'node:timers/promises'
import * as z from 'zod'
import { AppError, messageOf } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { Store } from '../../store/store.ts'
import { markDecision } from './build-notices.ts'
import { resolveSecret } from './channel-setup.ts'
import { postJson, problemIn, without } from './channels.ts'
import {
  type AnswerDecision,
  type Channel,
  type NoticeDecision,
  type NotifyMessage,
  type NotifySettings,
  type RemoteAnswer,
  type SendResult,
  toSafeLine,
} from './notice.ts'

/** Longer than Telegram holds a poll open. */
const SLACK_MS = 15_000
const POLL_SECONDS = 50

const Chat = z.object({ id: z.number() })
const From = z.object({ id: z.number(), username: z.string().optional(), first_name: z.string().optional() })
const Markup = z.object({
  inline_keyboard: z.array(z.array(z.object({ text: z.string(), callback_data: z.string().optional() }))),
})
const Posted = z.object({
  message_id: z.number(),
  chat: Chat,
  from: From.optional(),
  text: z.string().optional(),
  reply_markup: Markup.optional(),
})

/** What somebody did in a chat that the bot is in: pressed a button, or wrote. Whatever else there is is left out. */
export const TelegramUpdate = z.object({
  update_id: z.number(),
  callback_query: z
    .object({ id: z.string(), from: From, data: z.string().optional(), message: Posted.optional() })
    .optional(),
  message: Posted.extend({ reply_to_message: Posted.optional() }).optional(),
})
export type TelegramUpdate = z.infer<typeof TelegramUpdate>

const Updates = z.object({ ok: z.literal(true), result: z.array(z.unknown()) })

/** A bot and the one chat it talks to. */
export interface TelegramBot {
  readonly chat: string
  /** The bot's own id, as its token says. */
  readonly id: string
  call(method: string, body: Record<string, unknown>, signal: AbortSignal): Promise<SendResult>
  /** What happened since, waiting for it; a failure is a value. */
  updates(
    offset: number,
    signal: AbortSignal,
  ): Promise<{ updates: TelegramUpdate[]; next: number } | { problem: string }>
}

/** The client of Telegram's bot API: plain HTTP, with the token in the path. */
export function telegramBot(
  { bot_token, chat_id, base_url }: NotifySettings['telegram'],
  env: Record<string, string | undefined>,
): TelegramBot {
  const token = resolveSecret(bot_token, env) ?? ''
  const url = (method: string) => `${base_url.replace(/\/+$/, '')}/bot${token}/${method}`
  const secrets = [token]
  return {
    chat: resolveSecret(chat_id, env) ?? '',
    id: token.split(':')[0] ?? '',
    call: (method, body, signal) => postJson({ url: url(method), body, signal, secrets }),
    async updates(offset, signal) {
      try {
        const reply = await fetch(url('getUpdates'), {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ offset, timeout: POLL_SECONDS, allowed_updates: ['callback_query', 'message'] }),
          redirect: 'error',
          signal: AbortSignal.any([signal, AbortSignal.timeout(POLL_SECONDS * 1000 + SLACK_MS)]),
        })
        const body: unknown = await reply.json()
        const read = Updates.safeParse(body)
        if (!reply.ok || !read.success) {
          return { problem: without(`${reply.status}: ${JSON.stringify(body).slice(0, 200)}`, secrets) }
        }
        return readUpdates(read.data.result, offset)
      } catch (error) {
        return { problem: without(problemIn(error), secrets) }
      }
    },
  }
}

/** One that cannot be read is passed over, or it would come again for ever. */
function readUpdates(raw: unknown[], offset: number): { updates: TelegramUpdate[]; next: number } {
  const updates = raw.flatMap(each => {
    const read = TelegramUpdate.safeParse(each)
    return read.success ? [read.data] : []
  })
  const ids = raw.flatMap(each => {
    const id = (each as { update_id?: unknown } | null)?.update_id
    return typeof id === 'number' ? [id] : []
  })
  return { updates, next: Math.max(offset, ...ids.map(id => id + 1)) }
}

/** Sends to the one chat; what waits for an answer has buttons, and what replies to it is an answer in words. */
export function telegramChannel(bot: TelegramBot): Channel {
  return {
    name: 'telegram',
    send: (message, signal) => bot.call('sendMessage', bodyOf(message, bot.chat), signal),
  }
}

/** Without a parse mode: an agent's words are never markup. */
function bodyOf({ title, text, decision, sound }: NotifyMessage, chat_id: string): Record<string, unknown> {
  return {
    chat_id,
    text: text === '' ? title : `${title}\n\n${text}`,
    disable_notification: !sound,
    link_preview_options: { is_disabled: true },
    ...(decision ? { reply_markup: { inline_keyboard: buttonsFor(decision) } } : {}),
  }
}

/** What a press says. */
type ButtonPress = { number: number; mark: string } & ({ verdict: 'allow' | 'deny' } | { option: number })

interface Button {
  text: string
  callback_data: string
}

/** Telegram shows long words cut; data may have 64 bytes. */
const LONGEST_LABEL = 40

/** The buttons under a message: one for each option, or yes and no. */
function buttonsFor({ number, mark, kind, options, deps }: NoticeDecision): Button[][] {
  const button = (text: string, what: string): Button => ({
    text: text.length > LONGEST_LABEL ? `${text.slice(0, LONGEST_LABEL - 1).toWellFormed()}…` : text,
    callback_data: `${number}:${mark}:${what}`,
  })
  if (kind !== 'question') {
    const [yes, no] = kind === 'error' ? ['Try again', 'Leave it'] : ['Approve', 'Deny']
    return [[button(yes ?? '', 'allow'), button(no ?? '', 'deny')]]
  }
  const choices = deps === 1 ? options.map((label, index) => [button(`${index + 1}. ${label}`, String(index + 1))]) : []
  return [...choices, [button('Do not answer', 'deny')]]
}

/** Reads the data of a button; nothing where it is none of ours. */
export function readPress(data: string | undefined): ButtonPress | undefined {
  const [, number, mark, what] = /^(\d{1,9}):([0-9a-f]{12}):(allow|deny|\d{1,2})$/.exec(data ?? '') ?? []
  if (number === undefined || mark === undefined || what === undefined) return undefined
  const of = { number: Number(number), mark }
  return what === 'allow' || what === 'deny' ? { ...of, verdict: what } : { ...of, option: Number(what) }
}

const FIRST_RETRY_MS = 2_000
const LONGEST_RETRY_MS = 5 * 60_000

export interface TelegramAnswers {
  bot: TelegramBot
  store: Pick<Store, 'escalations'>
  answer: AnswerDecision
  log: Log
  signal: AbortSignal
}

/** Takes answers from the one chat, by long polling, until the signal ends it. Never throws. */
export async function answersFromTelegram(deps: TelegramAnswers): Promise<void> {
  const { bot, log, signal } = deps
  let offset = 0
  let retryMs = FIRST_RETRY_MS
  while (!signal.aborted) {
    const got = await bot.updates(offset, signal)
    if ('problem' in got) {
      if (signal.aborted) return
      log.warn({ problem: got.problem }, 'Telegram could not be asked for answers; it is tried again')
      await sleep(retryMs, undefined, { signal, ref: false }).catch(() => undefined) // the daemon stops
      retryMs = Math.min(LONGEST_RETRY_MS, retryMs * 2)
      continue
    }
    retryMs = FIRST_RETRY_MS
    for (const update of got.updates) await take(update, deps)
    offset = got.next
  }
}

async function take({ callback_query: press, message }: TelegramUpdate, deps: TelegramAnswers): Promise<void> {
  const { bot, log, signal } = deps
  const chat = press ? press.message?.chat.id : message?.chat.id
  if (String(chat) !== bot.chat) {
    log.warn(
      { chat, from: (press?.from ?? message?.from)?.id },
      'a stranger wrote to the Telegram bot; left unanswered',
    )
    return
  }
  if (press) {
    const wanted = readPress(press.data)
    const told = wanted ? await settle(wanted, saidBy(wanted, press.from), deps) : UNKNOWN
    await bot.call('answerCallbackQuery', { callback_query_id: press.id, text: told.text.slice(0, 190) }, signal)
    if (press.message && told.over) await close(press.message, told.text, deps)
    return
  }
  const asked = message?.reply_to_message
  if (!message?.text || !asked || String(asked.from?.id) !== bot.id) return
  const wanted = asked.reply_markup?.inline_keyboard.flat().map(({ callback_data }) => readPress(callback_data))[0]
  if (!wanted) return
  const told = await settle(wanted, await wordsOf(message.text, wanted, message.from, deps), deps)
  await bot.call('sendMessage', { chat_id: bot.chat, text: told.text }, signal)
  if (told.over) await close(asked, told.text, deps)
}

interface AnswerOutcome {
  text: string
  /** Its buttons have no more to say. */
  over: boolean
}

const UNKNOWN: AnswerOutcome = { text: 'This button is not of this pcc.', over: true }

/** The mark must be that of the row: a number alone may be another question in another data directory. */
async function settle(
  { number, mark }: ButtonPress,
  said: RemoteAnswer,
  { store, answer, log }: TelegramAnswers,
): Promise<AnswerOutcome> {
  try {
    const found = await store.escalations.get(number)
    if (!found || markDecision(found) !== mark) return UNKNOWN
    await answer(number, said)
    const words = said.verdict === undefined ? 'answered' : said.verdict === 'allow' ? 'approved' : 'denied'
    return { text: `Decision ${number}: ${words} by ${said.by}.`, over: true }
  } catch (error) {
    const over = error instanceof AppError && OVER.has(error.code)
    if (!(error instanceof AppError)) log.error({ number, error }, 'an answer from Telegram could not be taken')
    return { text: toSafeLine(messageOf(error), 190), over }
  }
}

const OVER = new Set(['escalation_answered', 'escalation_withdrawn', 'escalation_unknown'])

function saidBy(press: ButtonPress, from: { username?: string | undefined } | undefined): RemoteAnswer {
  return { by: nameOf(from), ...('verdict' in press ? { verdict: press.verdict } : { answer: String(press.option) }) }
}

/** To a question that has several parts each line answers one. */
async function wordsOf(
  text: string,
  { number }: ButtonPress,
  from: { username?: string | undefined } | undefined,
  { store }: TelegramAnswers,
): Promise<RemoteAnswer> {
  const found = await store.escalations.get(number).catch(() => undefined)
  const by = nameOf(from)
  if (found && found.kind !== 'question') {
    const verdict = /^\s*(yes|y|approve|allow)\s*$/i.test(text)
      ? 'allow'
      : /^\s*(no|n|deny)\s*$/i.test(text)
        ? 'deny'
        : undefined
    return verdict ? { by, verdict } : { by, answer: text }
  }
  const questions = found?.input['questions']
  const parts = Array.isArray(questions) ? questions.length : 1
  return { by, answer: parts > 1 ? text.split('\n').filter(line => line.trim() !== '') : text }
}

/** A name that the person chose themselves, so it is kept apart from every other by where it came from. */
function nameOf(from: { username?: string | undefined } | undefined): string {
  return from?.username ? toSafeLine(`${from.username} (Telegram)`, 40) : 'you (Telegram)'
}

async function close(
  message: { message_id: number; text?: string | undefined },
  told: string,
  deps: TelegramAnswers,
): Promise<void> {
  const { bot, signal } = deps
  const text = `${(message.text ?? '').slice(0, 3_000)}\n\n✔ ${told}`.trim()
  await bot.call('editMessageText', { chat_id: bot.chat, message_id: message.message_id, text }, signal)
}
