import type { Channel, Message } from '../notice.ts'
import type { TelegramBot } from './bot.ts'
import { buttonsFor } from './buttons.ts'

/** Sends to the one chat; what waits for an answer has buttons, and what replies to it is an answer in words. */
export function telegramChannel(bot: TelegramBot): Channel {
  return {
    name: 'telegram',
    send: (message, signal) => bot.call('sendMessage', bodyOf(message, bot.chat), signal),
  }
}

/** Without a parse mode: an agent's words are never markup. */
function bodyOf({ title, text, decision, sound }: Message, chat_id: string): Record<string, unknown> {
  return {
    chat_id,
    text: text === '' ? title : `${title}\n\n${text}`,
    disable_notification: !sound,
    link_preview_options: { is_disabled: true },
    ...(decision ? { reply_markup: { inline_keyboard: buttonsFor(decision) } } : {}),
  }
}
