import { setTimeout as sleep } from 'node:timers/promises'
import * as z from 'zod'
import { AppError, messageOf } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import { readSecret } from '../../domain/config/secret-references.ts'
import type { Store } from '../../store/store.ts'
import { isShownWhole, markDecision, openCommand } from './build-notices.ts'
import { describeError, hideSecrets, postJson } from './channels.ts'
import {
  type AnswerDecision,
  type Channel,
  type NoticeDecision,
  type NotifyMessage,
  type NotifySettings,
  type RemoteAnswer,
  type SendResult,
  toSafeLine,
  toSafeText,
} from './notice.ts'

/** How much longer we wait for a reply than Telegram holds a poll open. */
const POLL_MARGIN_MS = 15_000
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

/** What somebody did in a chat with the bot: pressed a button, or wrote. Other fields are ignored. */
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
  /** The bot's own id, taken from its token. */
  readonly id: string
  call(method: string, body: Record<string, unknown>, signal: AbortSignal): Promise<SendResult>
  /** Waits for updates since the offset; a failure is returned as a value. */
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
  const token = readSecret(bot_token, env) ?? ''
  const url = (method: string) => `${base_url.replace(/\/+$/, '')}/bot${token}/${method}`
  const secrets = [token]
  return {
    chat: readSecret(chat_id, env) ?? '',
    id: token.split(':')[0] ?? '',
    call: (method, body, signal) => postJson({ url: url(method), body, signal, secrets }),
    async updates(offset, signal) {
      try {
        const reply = await fetch(url('getUpdates'), {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ offset, timeout: POLL_SECONDS, allowed_updates: ['callback_query', 'message'] }),
          redirect: 'error',
          signal: AbortSignal.any([signal, AbortSignal.timeout(POLL_SECONDS * 1000 + POLL_MARGIN_MS)]),
        })
        const body: unknown = await reply.json()
        const read = Updates.safeParse(body)
        if (!reply.ok || !read.success) {
          return { problem: hideSecrets(`${reply.status}: ${JSON.stringify(body).slice(0, 200)}`, secrets) }
        }
        return readUpdates(read.data.result, offset)
      } catch (error) {
        return { problem: hideSecrets(describeError(error), secrets) }
      }
    },
  }
}

/** An update that cannot be read is skipped, or it would come again for ever. */
function readUpdates(raw: unknown[], offset: number): { updates: TelegramUpdate[]; next: number } {
  const updates = raw.flatMap(update => {
    const read = TelegramUpdate.safeParse(update)
    return read.success ? [read.data] : []
  })
  const ids = raw.flatMap(update => {
    const id = (update as { update_id?: unknown } | null)?.update_id
    return typeof id === 'number' ? [id] : []
  })
  return { updates, next: Math.max(offset, ...ids.map(id => id + 1)) }
}

/** Sends to the one chat. A decision has buttons, and a reply to its message is an answer as text. */
export function telegramChannel(bot: TelegramBot): Channel {
  return {
    name: 'telegram',
    send: (message, signal) => bot.call('sendMessage', buildBody(message, bot.chat), signal),
  }
}

/** Sets no parse mode, so that an agent's text is never markup. */
function buildBody({ title, text, decision, sound }: NotifyMessage, chat_id: string): Record<string, unknown> {
  return {
    chat_id,
    text: text === '' ? title : `${title}\n\n${text}`,
    disable_notification: !sound,
    link_preview_options: { is_disabled: true },
    ...(decision ? { reply_markup: { inline_keyboard: buttonsFor(decision) } } : {}),
  }
}

/** What a pressed button means. */
type ButtonPress = { number: number; mark: string } & ({ verdict: 'allow' | 'deny' } | { option: number })

interface Button {
  text: string
  callback_data: string
}

/** Telegram cuts long labels; `callback_data` may have 64 bytes. */
const LONGEST_LABEL = 40

/** The buttons under a message: one for each option, or yes and no. What is not shown whole can only be declined here. */
function buttonsFor({ number, mark, kind, options, parts, whole = false }: NoticeDecision): Button[][] {
  const button = (text: string, choice: string): Button => ({
    text: text.length > LONGEST_LABEL ? `${text.slice(0, LONGEST_LABEL - 1).toWellFormed()}…` : text,
    callback_data: `${number}:${mark}:${choice}`,
  })
  if (kind !== 'question') {
    const [yes, no] = kind === 'error' ? ['Try again', 'Leave it'] : ['Approve', 'Deny']
    return [[...(whole ? [button(yes ?? '', 'allow')] : []), button(no ?? '', 'deny')]]
  }
  const choices =
    whole && parts === 1 ? options.map((label, index) => [button(`${index + 1}. ${label}`, String(index + 1))]) : []
  return [...choices, [button('Do not answer', 'deny')]]
}

/** Reads the data of a button; undefined if it is not one of ours. */
export function readPress(data: string | undefined): ButtonPress | undefined {
  const [, number, mark, choice] = /^(\d{1,9}):([0-9a-f]{12}):(allow|deny|\d{1,2})$/.exec(data ?? '') ?? []
  if (number === undefined || mark === undefined || choice === undefined) return undefined
  const decision = { number: Number(number), mark }
  return choice === 'allow' || choice === 'deny'
    ? { ...decision, verdict: choice }
    : { ...decision, option: Number(choice) }
}

const FIRST_RETRY_MS = 2_000
const LONGEST_RETRY_MS = 5 * 60_000

export interface TelegramAnswers {
  bot: TelegramBot
  store: Pick<Store, 'escalations'>
  answer: AnswerDecision
  log: Log
  signal: AbortSignal
  /** Values that never leave the machine. */
  hidden: readonly string[]
  /** Does what somebody orders in the chat, such as `/task …`, and returns the reply. `id` is the same if it comes twice. */
  order?: ((text: string, by: { name: string; id: number }) => Promise<string>) | undefined
}

/** Receives answers from the one chat, by long polling, until the signal ends it. Never throws. */
export async function receiveTelegramAnswers(deps: TelegramAnswers): Promise<void> {
  const { bot, log, signal } = deps
  let offset = 0
  let retryMs = FIRST_RETRY_MS
  while (!signal.aborted) {
    const received = await bot.updates(offset, signal)
    if ('problem' in received) {
      if (signal.aborted) return
      log.warn({ problem: received.problem }, 'Telegram could not be asked for answers; it is tried again')
      await sleep(retryMs, undefined, { signal, ref: false }).catch(() => undefined) // the daemon stops
      retryMs = Math.min(LONGEST_RETRY_MS, retryMs * 2)
      continue
    }
    retryMs = FIRST_RETRY_MS
    for (const update of received.updates) await handleUpdate(update, deps)
    offset = received.next
  }
}

/** Does what somebody pressed or wrote, if it was in the one chat. Everything in it counts once, however often it comes. */
export async function handleUpdate(update: TelegramUpdate, deps: TelegramAnswers): Promise<void> {
  const { callback_query: press, message } = update
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
    const button = readPress(press.data)
    const outcome = button ? await settle(button, toAnswer(button, press.from), deps) : UNKNOWN
    await bot.call('answerCallbackQuery', { callback_query_id: press.id, text: outcome.text.slice(0, 190) }, signal)
    if (press.message && outcome.over) await closeMessage(press.message, outcome.text, deps)
    return
  }
  if (message?.text?.startsWith('/') && deps.order) {
    const by = { name: nameOf(message.from), id: update.update_id }
    const text = await deps.order(message.text, by).catch(error => {
      log.warn({ error }, 'an order from Telegram failed')
      return `That failed: ${messageOf(error)}`
    })
    return void (await bot.call('sendMessage', { chat_id: bot.chat, text: toSafeText(text, 3_500) }, signal))
  }
  const asked = message?.reply_to_message
  if (!message?.text || !asked || String(asked.from?.id) !== bot.id) return
  const button = asked.reply_markup?.inline_keyboard.flat().map(({ callback_data }) => readPress(callback_data))[0]
  if (!button) return
  const outcome = await settle(button, await readReply(message.text, button, message.from, deps), deps)
  await bot.call('sendMessage', { chat_id: bot.chat, text: outcome.text }, signal)
  if (outcome.over) await closeMessage(asked, outcome.text, deps)
}

interface AnswerOutcome {
  text: string
  /** Whether the decision is settled, so that the buttons go. */
  over: boolean
}

const UNKNOWN: AnswerOutcome = { text: 'This button is not of this pcc.', over: true }

/** The mark must be that of the row: the same number may be another question in another data directory. */
async function settle(
  press: ButtonPress,
  given: RemoteAnswer,
  { store, answer, log, hidden }: TelegramAnswers,
): Promise<AnswerOutcome> {
  const { number, mark } = press
  try {
    const escalation = await store.escalations.get(number)
    if (!escalation || markDecision(escalation) !== mark) return UNKNOWN
    // Also for the button of an older message, and for a yes in words.
    if ((given.verdict === 'allow' || 'option' in press) && !isShownWhole(escalation, hidden)) {
      return { text: `Not all of it is shown here. Open it: ${openCommand(escalation)}`, over: false }
    }
    await answer(number, given)
    const verb = given.verdict === undefined ? 'answered' : given.verdict === 'allow' ? 'approved' : 'denied'
    return { text: `Decision ${number}: ${verb} by ${given.by}.`, over: true }
  } catch (error) {
    const over = error instanceof AppError && OVER.has(error.code)
    if (!(error instanceof AppError)) log.error({ number, error }, 'an answer from Telegram could not be taken')
    return { text: toSafeLine(messageOf(error), 190), over }
  }
}

const OVER = new Set(['escalation_answered', 'escalation_withdrawn', 'escalation_unknown'])

function toAnswer(press: ButtonPress, from: { username?: string | undefined } | undefined): RemoteAnswer {
  return { by: nameOf(from), ...('verdict' in press ? { verdict: press.verdict } : { answer: String(press.option) }) }
}

/** Reads a text reply. If a question has several parts, each line answers one. */
async function readReply(
  text: string,
  { number }: ButtonPress,
  from: { username?: string | undefined } | undefined,
  { store }: TelegramAnswers,
): Promise<RemoteAnswer> {
  const escalation = await store.escalations.get(number).catch(() => undefined)
  const by = nameOf(from)
  if (escalation && escalation.kind !== 'question') {
    const verdict = /^\s*(yes|y|approve|allow)\s*$/i.test(text)
      ? 'allow'
      : /^\s*(no|n|deny)\s*$/i.test(text)
        ? 'deny'
        : undefined
    return verdict ? { by, verdict } : { by, answer: text }
  }
  const questions = escalation?.input['questions']
  const parts = Array.isArray(questions) ? questions.length : 1
  return { by, answer: parts > 1 ? text.split('\n').filter(line => line.trim() !== '') : text }
}

/** People choose these names themselves, so `(Telegram)` sets them apart from all others. */
function nameOf(from: { username?: string | undefined } | undefined): string {
  return from?.username ? toSafeLine(`${from.username} (Telegram)`, 40) : 'you (Telegram)'
}

/** Adds the outcome to the message and removes its buttons. */
async function closeMessage(
  message: { message_id: number; text?: string | undefined },
  outcome: string,
  deps: TelegramAnswers,
): Promise<void> {
  const { bot, signal } = deps
  const text = `${(message.text ?? '').slice(0, 3_000)}\n\n✔ ${outcome}`.trim()
  await bot.call('editMessageText', { chat_id: bot.chat, message_id: message.message_id, text }, signal)
}
