import { Argument, type Command } from 'commander'
import type { Places } from '../../../base/places.ts'
import { BRAIN_KINDS, type BrainKind } from '../../../domain/brain/brain-kind.ts'
import { isSettingKey } from '../../../domain/config/settings.ts'
import { refuseInSession } from '../../commands/decide/own-terminal.ts'
import { visible, written } from '../rows.ts'
import type { BrainOptions } from './choices.ts'

interface Options extends BrainOptions {
  test: boolean
}

interface Output {
  places: Places
  json: boolean
  out(line: string): void
  note(line: string): void
}

/** `pcc config brain <kind>`: sets a brain up, after it has answered a question. */
export function addBrainCommand(config: Command, outputOf: (command: Command) => Promise<Output>): void {
  config
    .command('brain')
    .description('set up what forms opinions: asks for what it needs, checks it, asks a test question')
    .addArgument(new Argument('<kind>', 'none is the rules alone').choices(BRAIN_KINDS))
    .option('--model <name>', 'the model')
    .option('--key-env <name>', 'take the API key from this variable')
    .option('--key-stdin', 'read the API key from standard input')
    .option('--url <url>', 'where its server is')
    .option('--no-test', 'write it down unchecked')
    .option('--json', 'print JSON')
    .action(async (kind: BrainKind, options: Options, command: Command) => {
      refuseInSession(process.env, `config brain ${kind}`)
      await brainCommand(kind, options, await outputOf(command))
    })
}

async function brainCommand(kind: BrainKind, options: Options, { places, json, out, note }: Output): Promise<void> {
  const { checkOptions } = await import('./choices.ts')
  checkOptions(kind, options)
  const { settings, model, tested } = kind === 'none' ? NONE : await chosen(kind, options, { places, json, note })
  const { setSetting } = await import('../../../domain/config/edit.ts')
  const file = places.configFile
  const shown: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(settings)) {
    if (value === undefined || !isSettingKey(key)) continue
    shown[key] = visible(key, setSetting(places, key, String(value)), false)
  }
  if (json) return out(JSON.stringify({ kind, model: model ?? null, file, settings: shown, test: tested ?? null }))
  if (tested) out(`${kind} answers: ${model} said "${tested.answer}" to a test question (${tested.ms} ms).`)
  for (const [key, value] of Object.entries(shown)) out(`${key} = ${written(value)}  (in ${file})`)
  if (kind === 'none') out('Questions are answered by rules, and by you.')
}

const NONE = { settings: { 'brain.type': 'none' as const }, model: undefined, tested: undefined }

async function chosen(
  kind: Exclude<BrainKind, 'none'>,
  options: Options,
  { places, json, note }: Pick<Output, 'places' | 'json' | 'note'>,
) {
  const [{ setUpBrain }, { personAtTerminal }, { loadConfig }] = await Promise.all([
    import('./set-up-brain.ts'),
    import('./person.ts'),
    import('../../../domain/config/load.ts'),
  ])
  const atTerminal = !json && process.stdin.isTTY === true && process.stderr.isTTY === true
  const gone = new AbortController()
  const interrupt = () => gone.abort()
  process.once('SIGINT', interrupt)
  try {
    return await setUpBrain({
      kind,
      options,
      load: settings => loadConfig({ places, env: process.env, flags: settings }),
      person: atTerminal ? await personAtTerminal(`Setting up ${kind}`) : undefined,
      env: process.env,
      note,
      signal: gone.signal,
    })
  } finally {
    process.off('SIGINT', interrupt)
  }
}
