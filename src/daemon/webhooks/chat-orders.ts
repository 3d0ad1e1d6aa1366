import { AppError } from '../../base/errors.ts'
import { loadConfig } from '../../domain/config/load.ts'
import { fillSecrets } from '../../domain/config/secret-references.ts'
import { OPEN_STATES } from '../../domain/task.ts'
import { type DaemonContext, getTasks, readNeeds } from '../context.ts'
import { answerFromAfar } from '../notifications.ts'
import { realOrGiven } from '../routes/tasks.ts'
import { externalLine, externalText } from './external-text.ts'
import type { ReadWebhooks } from './settings.ts'

/** Hands what Telegram sent to the code that also reads it when it is asked for. Returns what became of it. */
export async function hearChat(
  raw: unknown,
  daemon: DaemonContext,
  env: Record<string, string | undefined>,
): Promise<string> {
  const { paths, secrets, store, log, stopping: signal, webhooks } = daemon
  const [{ config }, { handleUpdate, TelegramUpdate, telegramBot }] = await Promise.all([
    loadConfig({ paths, env }),
    import('../../human/notify/telegram.ts'),
  ])
  const { notifications } = await fillSecrets({ notifications: config.notifications }, secrets)
  const bot = telegramBot(notifications.telegram, env)
  const update = TelegramUpdate.parse(raw)
  const deps = { bot, store, log, signal, answer: answerFromAfar(daemon), order: webhooks.order }
  await handleUpdate(update, { ...deps, hidden: secrets.known() })
  const chatId = (update.callback_query?.message ?? update.message)?.chat.id
  return String(chatId) === bot.chat ? 'heard' : 'a stranger wrote; left unanswered'
}

const HELP = 'Orders: /pending (what waits for you), /status (open tasks), /task TEXT (a new task).'

/** The orders of a chat. What they change is done once, also if the message comes twice. */
export async function obey(
  text: string,
  by: { name: string; id: number },
  daemon: DaemonContext,
  { settings }: ReadWebhooks,
): Promise<string> {
  const [, word, rest = ''] = /^\/([a-z]{1,20})(?:@\w+)?(?:\s+(.*))?$/s.exec(text.trim()) ?? []
  switch (word) {
    case 'pending': {
      const { needs } = await readNeeds(daemon)
      return needs.length === 0
        ? 'Nothing waits for you.'
        : needs
            .slice(0, 10)
            .map(need => `• ${need.text}`)
            .join('\n')
    }
    case 'status': {
      const counts = await daemon.store.tasks.countsByProject()
      const lines = [...counts].flatMap(([project, of]) => {
        const open = OPEN_STATES.flatMap(state => (of[state] ? [`${of[state]} ${state}`] : []))
        return open.length === 0 ? [] : [`${project}: ${open.join(', ')}`]
      })
      return lines.length === 0 ? 'No task is open.' : lines.join('\n')
    }
    case 'task':
      return rest.trim() === '' ? HELP : makeTask(rest, by, daemon, settings)
    default:
      return HELP
  }
}

async function makeTask(
  text: string,
  { name, id }: { name: string; id: number },
  daemon: DaemonContext,
  { telegram, start_runs }: ReadWebhooks['settings'],
): Promise<string> {
  if (telegram.project === undefined) return 'Set webhooks.telegram.project first: the folder in which tasks are made.'
  const { store, supervisor } = daemon
  const project = await realOrGiven(telegram.project)
  const alias = `telegram:${id}`
  const task = await store.transaction(async tx => {
    const [known] = await store.tasks.named(alias, tx)
    const wanted = {
      session_id: null,
      project,
      title: externalLine(text),
      text: externalText(text, { from: name }),
      alias,
    }
    return known ?? getTasks(daemon).submit({ ...wanted, labels: ['telegram'], actor: 'webhook telegram' }, tx)
  })
  if (!start_runs || task.state !== 'ready') return `${task.id} is written down: ${task.title}`
  try {
    await supervisor.runs.start({ project, target: { kind: 'task', id: task.id }, env: supervisor.apiEnv })
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const run = error.code === 'run_there' ? await store.runs.get(String(error.detail['id'])) : undefined
    const why = run?.stopping ? `${run.id} is being stopped. Later: pcc run ${task.id}` : error.message
    if (!run || run.stopping) return `${task.id} is written down, but does not begin: ${why}`
  }
  return `${task.id} begins: ${task.title}`
}
