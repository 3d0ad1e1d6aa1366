import { once } from 'node:events'
import { type Command, InvalidArgumentError } from 'commander'
import type { LoggedRequest } from '../../simulator/request-log.ts'
import { commandContext, ExitCode } from '../context.ts'
import { counted } from '../render/format.ts'

/** `pcc simulate <scenario.yaml>`: serves the model's API on loopback, with answers from a file. */
export function addSimulateCommand(program: Command): void {
  program
    .command('simulate')
    .summary('Serve a scripted model API on loopback')
    .description('Serve a scripted model API on loopback, so that a real agent runs without an account or network')
    .argument('<scenario>', 'the scenario file (its format: pcc docs simulator)')
    .option('--port <number>', 'port on 127.0.0.1; 0 takes a free one', parsePort, 0)
    .option('--log <file>', 'append every request as a JSON line')
    .option('--json', 'print the address and the environment as JSON')
    .action((scenario: string, options: SimulateOptions, command: Command) => simulate(scenario, options, command))
}

interface SimulateOptions {
  port: number
  log?: string
}

/** How many requests stay in memory. Memory must not grow over days, and afterwards only the log file is read. */
const KEEP = 10

async function simulate(scenario: string, { port, log }: SimulateOptions, command: Command): Promise<void> {
  const { openSimulator } = await import('../../simulator/open.ts')
  const context = await commandContext(command)
  const counts = { requests: 0, failed: 0 }
  const onRequest = (request: LoggedRequest) => {
    counts.requests++
    if (isFailure(request)) counts.failed++
    context.note(requestLine(request))
  }
  const stopped = Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
  await using simulator = await openSimulator({ file: scenario, port, log, keep: KEEP, onRequest })
  const { url } = simulator
  const env = environmentFor(url)
  if (context.json) context.out(JSON.stringify({ url, port: simulator.port, env }))
  else for (const line of greeting(scenario, url, env)) context.out(line)
  await stopped
  context.note(`\n${counted(counts.requests, 'request')}, ${counts.failed} not as the scenario expects`)
  if (counts.failed > 0) throw new ExitCode(1)
}

/** The environment that makes an agent talk to the simulator and to nothing else. */
function environmentFor(url: string): Record<string, string> {
  return {
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: 'sk-ant-simulated',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_TELEMETRY: '1',
    DISABLE_AUTOUPDATER: '1',
  }
}

function greeting(scenario: string, url: string, env: Record<string, string>): string[] {
  return [
    `Serving ${scenario} at ${url}`,
    '',
    'In another terminal:',
    ...Object.entries(env).map(([name, value]) => `  export ${name}=${value}`),
    '',
    'For subscription limits give a token in place of the key:',
    '  unset ANTHROPIC_API_KEY',
    '  export CLAUDE_CODE_OAUTH_TOKEN=simulated',
    '',
    'Ctrl+C stops it.',
  ]
}

function isFailure(request: LoggedRequest): boolean {
  return request.unexpected.length > 0 || ['unmatched', 'exhausted', 'refused'].includes(request.response)
}

function requestLine(request: LoggedRequest): string {
  const time = new Date(request.time).toISOString().slice(11, 19)
  const subject =
    request.turn ?? (request.prompt ? `"${request.prompt.slice(0, 60)}"` : `${request.method} ${request.path}`)
  const unexpected = request.unexpected.length > 0 ? ` · not as expected: ${request.unexpected.join(', ')}` : ''
  return `${time}  ${request.status} ${request.response}  ${subject.replaceAll('\n', ' ')}${unexpected}`
}

function parsePort(text: string): number {
  const port = Number(text)
  if (!/^\d+$/.test(text) || port > 65_535) throw new InvalidArgumentError('a port is a number from 0 to 65535')
  return port
}
