import { neutral } from '../../base/neutral.ts'
import { quoteForShell } from '../../base/words.ts'
import { chooseAgent } from '../../domain/choose-agent.ts'
import { type CommandContext, ExitCode, isInteractive } from '../context.ts'
import { loadSettings } from '../load-settings.ts'
import { wrap } from '../render/text.ts'
import { type OfferedCommand, PREFLIGHT_CHECKS, type PreflightRequest, type PreflightRow } from './preflight-checks.ts'

/** Says what is not right before work begins, each in one line with what helps, and offers at a terminal to do that now. */
export async function preflight(request: PreflightRequest): Promise<void> {
  const { context, offers } = request
  const rows = await readPreflight(request)
  for (const line of preflightLines(rows, context)) context.note(line)
  if (!offers || !isInteractive(context)) return
  for (const { command, followUp, isTheirs } of rows)
    if (command) await offerToRun(followUp ? [command, followUp] : [command], request, isTheirs ? 'no' : 'yes')
}

/** A check that cannot be made says nothing: what it would have found is met when the work begins. */
async function readPreflight(request: PreflightRequest): Promise<PreflightRow[]> {
  try {
    const loaded = await loadSettings({ ...request.context, ...request })
    const text = request.agent ?? loaded.config.agent.command
    const { custom } = loaded.config.agents
    const chosen = chooseAgent({ text, origin: '', custom, directory: request.project })
    const verify = request.verify ?? loaded.config.execution.verify
    const facts = { ...request, loaded, kind: chosen.kind, chosen, verify }
    const checks = Object.values(PREFLIGHT_CHECKS).flat()
    return (await Promise.all(checks.map(async check => check(facts)).map(quietly))).flat()
  } catch {
    return [] // settings that cannot be read are refused by the command itself
  }
}

function quietly(rows: Promise<PreflightRow[]>): Promise<PreflightRow[]> {
  return rows.catch(() => [])
}

function preflightLines(all: readonly PreflightRow[], { terminal, ...context }: CommandContext) {
  const rows = isInteractive(context) ? all : all.filter(({ fix }) => fix !== undefined)
  const [good, bad] = [terminal.paint('green', '✓'), terminal.paint('yellow', '!')]
  const isReady = isInteractive(context) && rows.every(({ fix }) => fix === undefined)
  const width = Math.max(0, ...rows.map(({ area }) => area.length))
  const indent = ' '.repeat(width + 4)
  const below = (text: string) => wrap(neutral(text), terminal.width - width - 5)
  const lines = rows.flatMap(({ area, says, fix }) => {
    const [first = '', ...more] = below(says)
    return [
      `${fix === undefined ? good : bad} ${area.padEnd(width)}  ${first}`,
      ...more.map(line => `${indent}${line}`),
      ...(fix === undefined ? [] : below(`→ ${fix}`)).map(line => `${indent}${terminal.paint('dim', line)}`),
    ]
  })
  return isReady ? [`${good} ${allRight()}`, ...lines] : lines
}

/** `Ready: agent, login and disk.` */
function allRight(): string {
  const names = Object.keys(PREFLIGHT_CHECKS)
  return `Ready: ${names.slice(0, -1).join(', ')} and ${names.at(-1)}.`
}

/** It runs as if the person had typed it: in their terminal and environment, in the project, with the same settings and data. */
async function offerToRun(
  commands: readonly OfferedCommand[],
  { project, context: { env, placeFlags } }: PreflightRequest,
  nothing: 'yes' | 'no',
): Promise<void> {
  const whole = commands.map(
    ([program, ...rest]) => [program, ...(program === 'pcc' ? placeFlags : []), ...rest] as const,
  )
  const [{ agrees, INTERRUPTED }, { runInTerminal }] = await Promise.all([
    import('../input.ts'),
    import('../run-in-terminal.ts'),
  ])
  const question = `Run now: ${whole.map(words => words.map(quoteForShell).join(' ')).join(' && ')}?`
  if (!commands.every(asksItself) && !(await agrees(question, nothing))) return
  for (const [program, ...args] of whole) {
    const own = { command: process.execPath, args: [process.argv[1] ?? '', ...args] }
    const { code, signal } = await runInTerminal({
      ...(program === 'pcc' ? own : { command: program, args }),
      ...{ env, cwd: project },
    })
    if (code === INTERRUPTED || signal === 'SIGINT') throw new ExitCode(INTERRUPTED)
    if (code !== 0) return
  }
}

/** `pcc trust` shows the files and asks about them: a question before it would be the same question with another default. */
function asksItself([program, command]: OfferedCommand): boolean {
  return program === 'pcc' && command === 'trust'
}
