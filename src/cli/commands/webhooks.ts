import type { Command } from 'commander'
import { dateTime } from '../../base/clock.ts'
import { neutral } from '../../base/neutral.ts'
import type { ApiStatus } from '../../domain/api.ts'
import { DELIVERY_STATES, type DeliveryState } from '../../domain/option-values.ts'
import type { WebhookSetup, WebhookView } from '../../domain/webhook.ts'
import { openClient } from '../connection/client.ts'
import { type CommandContext, commandContext, ExitCode } from '../context.ts'
import { optionParser, refuseInSession } from '../options.ts'
import { ago } from '../render/format.ts'
import { boxTable, type Cell } from '../render/list-table.ts'
import { cut, firstLine } from '../render/text.ts'

const TONES: Partial<Record<DeliveryState, NonNullable<Cell['tone']>>> = {
  failed: 'red',
  refused: 'yellow',
  ignored: 'dim',
}

/** `pcc webhooks`: messages from and to other programs. */
export function addWebhooksCommand(program: Command): void {
  const webhooks = program.command('webhooks').description('See messages of other programs, and what became of them')

  webhooks
    .command('list')
    .description('List the newest messages that came in')
    .option(
      '--state <state>',
      DELIVERY_STATES.join(', '),
      optionParser(readState, `It must be one of ${DELIVERY_STATES.join(', ')}.`),
    )
    .option('--source <name>', 'only those of one webhook')
    .option('--limit <n>', 'how many', optionParser(readCount, 'It must be a number from 1 to 1000.'))
    .option('--json', 'print JSON')
    .action(async (options: { state?: string; source?: string; limit?: number }, command: Command) => {
      const context = await commandContext(command)
      const { state, source, limit } = options
      const query = new URLSearchParams({
        ...(state !== undefined && { state }),
        ...(source !== undefined && { source }),
        ...(limit !== undefined && { limit: String(limit) }),
      })
      const client = await openClient(context.paths, context)
      const listed = await client.request<{ messages: WebhookView[] }>('GET', `/webhooks?${query}`)
      if (context.json) return context.out(JSON.stringify(listed, null, 2))
      for (const line of messageLines(listed.messages, context, Date.now())) context.out(line)
    })

  webhooks
    .command('show')
    .description('Show one message, with its text while that is stored')
    .argument('<id>', 'its number in the list')
    .option('--json', 'print JSON')
    .action(async (id: string, _options: object, command: Command) => {
      const context = await commandContext(command)
      const client = await openClient(context.paths, context)
      const shown = await client.request<{ message: WebhookView }>('GET', `/webhooks/${encodeURIComponent(id)}`)
      if (context.json) return context.out(JSON.stringify(shown, null, 2))
      for (const line of pageOf(shown.message)) context.out(line)
    })

  webhooks
    .command('retry')
    .description('Process a message again that failed or was refused (exit code 1 if it fails again)')
    .argument('<id>', 'its number in the list')
    .option('--json', 'print JSON')
    .action(async (id: string, _options: object, command: Command) => {
      const context = await commandContext(command)
      refuseInSession(context.env, `webhooks retry ${id}`)
      const client = await openClient(context.paths, context)
      const path = `/webhooks/${encodeURIComponent(id)}/retry`
      const { message } = await client.request<{ message: WebhookView }>('POST', path, {})
      if (context.json) context.out(JSON.stringify({ message }, null, 2))
      else context.out(`Message ${message.id} is ${message.state}: ${neutral(message.outcome ?? '')}`)
      if (message.state === 'failed' || message.state === 'refused') throw new ExitCode(1)
    })

  webhooks
    .command('status')
    .description('Show which webhooks are set up (exit code 1 if one cannot work)')
    .option('--json', 'print JSON')
    .action(async (_options: object, command: Command) => {
      const context = await commandContext(command)
      const client = await openClient(context.paths, context)
      const { webhooks: setups } = await client.request<{ webhooks: WebhookSetup[] }>('GET', '/webhooks/setup')
      const api = await client.request<ApiStatus>('GET', '/daemon/api')
      if (context.json) context.out(JSON.stringify({ webhooks: setups, api: api.address }, null, 2))
      else for (const line of statusLines(setups, api)) context.out(line)
      if (isDeaf(setups, api) || setups.some(({ problem }) => problem !== null)) throw new ExitCode(1)
    })

  webhooks
    .command('test')
    .description('Send a test event to a listed address (exit code 1 if it fails)')
    .argument('<name>', 'its name in the settings')
    .option('--json', 'print JSON')
    .action(async (name: string, _options: object, command: Command) => {
      const context = await commandContext(command)
      refuseInSession(context.env, `webhooks test ${name}`)
      const client = await openClient(context.paths, context)
      const path = `/webhooks/out/${encodeURIComponent(name)}/test`
      const sent = await client.request<{ ok: boolean; problem: string | null }>('POST', path, {})
      if (context.json) context.out(JSON.stringify(sent, null, 2))
      else context.out(sent.ok ? `${name}: sent` : `${name}: failed: ${neutral(sent.problem ?? '')}`)
      if (!sent.ok) throw new ExitCode(1)
    })
}

function toneOf(state: DeliveryState): Cell {
  const tone = TONES[state]
  return tone ? { text: state, tone } : { text: state }
}

function readState(text: string): string | undefined {
  return DELIVERY_STATES.find(state => state === text)
}

function readCount(text: string): number | undefined {
  return /^\d{1,4}$/.test(text) && Number(text) >= 1 && Number(text) <= 1_000 ? Number(text) : undefined
}

const WIDEST_OUTCOME = 90

function messageLines(messages: WebhookView[], { terminal }: Pick<CommandContext, 'terminal'>, now: number): string[] {
  if (messages.length === 0) return ['No message has come. See whether a webhook is set up: pcc webhooks status']
  const rows = messages.map(({ id, source, event, state, outcome, received_at }): Cell[] => [
    { text: String(id) },
    { text: source },
    { text: event },
    { text: ago(now - received_at) },
    toneOf(state),
    { text: cut(firstLine(neutral(outcome ?? '')), WIDEST_OUTCOME) },
  ])
  const headings = ['No.', 'From', 'What', 'Came', 'State', 'Outcome']
  return boxTable({ headings, rows, terminal, giveWay: [[5, 20]] })
}

function pageOf({
  id,
  source,
  event,
  delivery,
  state,
  outcome,
  tasks,
  tries,
  received_at,
  body,
}: WebhookView): string[] {
  return [
    `Message ${id} of ${source}: ${event} (${delivery})`,
    `Came ${dateTime(received_at)}; ${state}${tries > 0 ? `, tried ${tries} times` : ''}`,
    ...(outcome === null ? [] : [neutral(outcome)]),
    ...(tasks === '' ? [] : [`Tasks: ${tasks}`]),
    ...(state === 'failed' || (state === 'refused' && body) ? [`Try it again: pcc webhooks retry ${id}`] : []),
    ...(body ? ['', neutral(body)] : []),
  ]
}

/** Whether no message can come. */
function isDeaf(setups: WebhookSetup[], { on }: ApiStatus): boolean {
  return !on && setups.some(({ direction }) => direction === 'in')
}

function statusLines(setups: WebhookSetup[], api: ApiStatus): string[] {
  if (setups.length === 0) return ['No webhook is set up. How to: pcc docs webhooks']
  const lines = setups.map(({ name, direction, address: where, problem, waiting }) => {
    const place = direction === 'in' ? `${api.address ?? ''}${where}` : where
    const state = problem === null ? 'ready' : `does not work: ${neutral(problem)}`
    return `${direction.padEnd(3)} ${name}  ${place}  ${state}${waiting > 0 ? `, ${waiting} waiting` : ''}`
  })
  return [
    ...lines,
    ...(isDeaf(setups, api) ? ['The API does not listen, so no message can come: pcc daemon api on'] : []),
  ]
}
