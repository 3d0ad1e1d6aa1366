import { setTimeout as sleep } from 'node:timers/promises'
import { AppError, messageOf } from '../../../base/errors.ts'
import type { Log } from '../../../base/log.ts'
import type { Store } from '../../../store/store.ts'
import type { AnswerDecision, SaidFromAfar } from '../notice.ts'
import { markOf } from '../notice-of.ts'
import { plainLine } from '../plain.ts'
import type { TelegramBot, Update } from './bot.ts'
import { type Press, readPress } from './buttons.ts'

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
export async function answersFromTelegram(parts: TelegramAnswers): Promise<void> {
  const { bot, log, signal } = parts
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
    for (const update of got.updates) await take(update, parts)
    offset = got.next
  }
}

async function take({ callback_query: press, message }: Update, parts: TelegramAnswers): Promise<void> {
  const { bot, log, signal } = parts
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
    const told = wanted ? await settle(wanted, saidBy(wanted, press.from), parts) : UNKNOWN
    await bot.call('answerCallbackQuery', { callback_query_id: press.id, text: told.text.slice(0, 190) }, signal)
    if (press.message && told.over) await close(press.message, told.text, parts)
    return
  }
  const asked = message?.reply_to_message
  if (!message?.text || !asked || String(asked.from?.id) !== bot.id) return
  const wanted = asked.reply_markup?.inline_keyboard.flat().map(({ callback_data }) => readPress(callback_data))[0]
  if (!wanted) return
  const told = await settle(wanted, await wordsOf(message.text, wanted, message.from, parts), parts)
  await bot.call('sendMessage', { chat_id: bot.chat, text: told.text }, signal)
  if (told.over) await close(asked, told.text, parts)
}

interface Told {
  text: string
  /** Its buttons have no more to say. */
  over: boolean
}

const UNKNOWN: Told = { text: 'This button is not of this pcc.', over: true }

/** The mark must be that of the row: a number alone may be another question in another data directory. */
async function settle(
  { number, mark }: Press,
  said: SaidFromAfar,
  { store, answer, log }: TelegramAnswers,
): Promise<Told> {
  try {
    const found = await store.escalations.get(number)
    if (!found || markOf(found) !== mark) return UNKNOWN
    await answer(number, said)
    const words = said.verdict === undefined ? 'answered' : said.verdict === 'allow' ? 'approved' : 'denied'
    return { text: `Decision ${number}: ${words} by ${said.by}.`, over: true }
  } catch (error) {
    const over = error instanceof AppError && OVER.has(error.code)
    if (!(error instanceof AppError)) log.error({ number, error }, 'an answer from Telegram could not be taken')
    return { text: plainLine(messageOf(error), 190), over }
  }
}

const OVER = new Set(['escalation_answered', 'escalation_withdrawn', 'escalation_unknown'])

function saidBy(press: Press, from: { username?: string | undefined } | undefined): SaidFromAfar {
  return { by: nameOf(from), ...('verdict' in press ? { verdict: press.verdict } : { answer: String(press.option) }) }
}

/** To a question that has several parts each line answers one. */
async function wordsOf(
  text: string,
  { number }: Press,
  from: { username?: string | undefined } | undefined,
  { store }: TelegramAnswers,
): Promise<SaidFromAfar> {
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
  return from?.username ? plainLine(`${from.username} (Telegram)`, 40) : 'you (Telegram)'
}

async function close(
  message: { message_id: number; text?: string | undefined },
  told: string,
  parts: TelegramAnswers,
): Promise<void> {
  const { bot, signal } = parts
  const text = `${(message.text ?? '').slice(0, 3_000)}\n\n✔ ${told}`.trim()
  await bot.call('editMessageText', { chat_id: bot.chat, message_id: message.message_id, text }, signal)
}
