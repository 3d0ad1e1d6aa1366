import { dateTime } from '../../../base/clock.ts'
import { neutral } from '../../../base/neutral.ts'
import type { StoredEvent } from '../../../domain/event.ts'
import type { Captured } from '../../../domain/hook-capture.ts'
import { openClient } from '../../connection/client.ts'
import type { CommandContext } from '../../context.ts'
import { money } from '../../render/format.ts'
import { cut, wrap } from '../../render/text.ts'

/** `pcc hooks log`: what hooks reported, and with `follow` what comes. */
export async function showHookLog(
  { tail, follow }: { tail: number; follow?: true },
  context: CommandContext,
): Promise<void> {
  const client = await openClient(context.paths, context)
  const { events } = await client.request<{ events: StoredEvent[] }>('GET', `/hook-events?tail=${tail}`)
  const show = (event: StoredEvent) => {
    if (event.kind === 'hook.captured')
      context.out(context.json ? JSON.stringify(event) : captureLine(event, context.terminal.width))
  }
  events.forEach(show)
  if (!follow) return
  const leave = new AbortController()
  process.once('SIGINT', () => leave.abort())
  const last = events.at(-1)?.id
  const path = last === undefined ? '/events?from=now' : '/events'
  for await (const event of client.stream(path, { after: last ?? 0, signal: leave.signal })) show(event)
}

const LONGEST = 160

function captureLine({ time, subject, body }: StoredEvent & { kind: 'hook.captured' }, width: number): string {
  const origin = `${dateTime(time)}  ${subject}  `
  const text = cut(neutral(`${body.vendor} ${describe(body)}`.replace(/\s+/g, ' ')), LONGEST)
  return origin + wrap(text, width - origin.length).join(`\n${' '.repeat(origin.length)}`)
}

/** An agent wrote these texts. */
function describe(body: Captured): string {
  switch (body.type) {
    case 'tool_use_start':
      return `calls ${body.tool_name} ${body.parameters}`
    case 'tool_use_complete':
      return `${body.tool_name} is done`
    case 'tool_error':
      return `${body.tool_name} failed: ${body.error_message}`
    case 'file_read':
      return `reads ${body.file_path}`
    case 'file_edit':
      return `edited ${body.file_path} (${body.lines_changed} lines)`
    case 'file_write':
      return `wrote ${body.file_path} (${body.content_size} bytes)`
    case 'session_start':
      return `starts in ${body.working_directory}`
    case 'session_complete':
      return `ended: ${body.result}`
    case 'session_error':
    case 'limit':
      return `${body.error_type}: ${body.error_message}`
    case 'bash_command':
      return `wants to run ${body.command}`
    case 'bash_output':
      return body.exit_code === null ? `ran ${body.command}` : `exit ${body.exit_code} of ${body.command}`
    case 'usage':
      return `used ${body.input_tokens} tokens in, ${body.output_tokens} out${costOf(body)}`
    case 'call_decided':
      return `${body.tool_name}: ${body.verdict} (${body.risk}) ${body.reason}`
    case 'other':
      return body.event
  }
}

function costOf({ cost_usd, total_cost_usd }: Extract<Captured, { type: 'usage' }>): string {
  if (total_cost_usd !== undefined) return `; the conversation cost ${money(total_cost_usd)}`
  return cost_usd === undefined ? '' : `, about ${money(cost_usd)}`
}
