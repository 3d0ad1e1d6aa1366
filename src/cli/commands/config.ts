import { join } from 'node:path'
import { Argument, type Command } from 'commander'
import type { RecordChange } from '../../base/accepted-file.ts'
import { type AppPaths, appPathsFor } from '../../base/app-paths.ts'
import { findProjectFile, variableIn } from '../../domain/config/layers.ts'
import { loadConfig, refuseWrongHome } from '../../domain/config/load.ts'
import { findSetting } from '../../domain/config/parse-setting.ts'
import { fillSecrets } from '../../domain/config/secret-references.ts'
import { isInForce, isSettingKey, type SettingKey } from '../../domain/config/settings.ts'
import { BRAIN_KINDS, type BrainKind } from '../../domain/option-values.ts'
import { type CommandContext, commandContext, printers } from '../context.ts'
import { refuseInSession } from '../options.ts'
import type { BrainOptions } from './config-brain.ts'
import { formatValue, maskSecret, showConfig, showSetting } from './config-rows.ts'

/** `pcc config show | get | set | reset | brain | path`. Each subcommand imports what only it needs: scripts call `get` often. */
export function addConfigCommand(program: Command): void {
  const config = program.command('config').description('Show and change settings')

  config
    .command('show')
    .description('Show every setting')
    .option('--origin', 'also where each value came from')
    .option('--reveal', 'show secrets')
    .option('--project <dir>', 'as seen from this project', '.')
    .option('--json', 'print JSON')
    .action(async (options: { origin?: boolean; reveal?: boolean; project: string }, command: Command) => {
      const { dataDir } = command.optsWithGlobals<{ dataDir?: string }>()
      await showConfig({ ...options, dataDir }, await commandContext(command))
    })

  config
    .command('get <key>')
    .description('Print the value of one setting')
    .option('--reveal', 'show it even if it is a secret')
    .option('--project <dir>', 'as seen from this project', '.')
    .option('--json', 'print JSON')
    .action(async (name: string, options: { reveal?: boolean; project: string }, command: Command) => {
      const { dataDir } = command.optsWithGlobals<{ dataDir?: string }>()
      await showSetting(name, { ...options, dataDir }, await commandContext(command))
    })

  config
    .command('set <key> <value>')
    .description('Set one value in your config file, for all projects; separate the items of a list by commas')
    .option('--project [dir]', 'in the file of this project instead, and agree to it')
    .option('--json', 'print JSON')
    .action(async (name: string, text: string, options: { project?: string | true }, command: Command) => {
      const key = findSetting(name)
      refuseInSession(process.env, `config set ${key} …`)
      if (options.project !== undefined) {
        const path = options.project === true ? '.' : options.project
        return setInProject({ key, text, path }, await commandContext(command))
      }
      const context = { ...(await plainContext(command)), env: process.env }
      const { setSetting } = await import('../../domain/config/edit.ts')
      const record = await recordFor(command)
      const value = maskSecret(key, await setSetting(context.paths, key, text, { record }), false)
      const file = context.paths.configFile
      context.out(context.json ? JSON.stringify({ key, value, file }) : `${key} = ${formatValue(value)}  (in ${file})`)
      const variable = variableIn(context.env, key)
      if (variable) context.note(`${variable} is set and overrides the file.`)
      if (!isInForce(key)) context.note(`${key} is stored but not yet in force: this version does not use it.`)
    })

  config
    .command('reset [key]')
    .description('Reset one key or all to the default; the old file is kept beside it')
    .option('--yes', 'do not ask')
    .option('--json', 'print JSON')
    .action(async (name: string | undefined, options: { yes?: boolean }, command: Command) => {
      const context = await plainContext(command)
      const { paths } = context
      const key = name === undefined ? undefined : findSetting(name)
      refuseInSession(process.env, `config reset ${key ?? ''}`.trim())
      const what = key ?? `all settings in ${paths.configFile}`
      const { confirm } = await import('../input.ts')
      await confirm({ action: `Resetting ${what}`, question: `Reset ${what}?`, yes: options.yes === true })
      const { resetSetting, resetSettings } = await import('../../domain/config/edit.ts')
      const record = await recordFor(command)
      const backup = await (key ? resetSetting(paths, key, { record }) : resetSettings(paths, { record }))
      const text = backup ? `Reset ${what}. The old file is ${backup}` : `Nothing to reset: ${what} was not set.`
      context.out(context.json ? JSON.stringify({ key: key ?? null, backup: backup ?? null }) : text)
    })

  addBrainCommand(config, plainContext)

  config
    .command('path')
    .description('Print where your config file is')
    .option('--json', 'print JSON')
    .action(async (_options: object, command: Command) => {
      const context = await plainContext(command)
      const { configFile } = context.paths
      const project = await findProjectFile('.', process.env['HOME'] ?? '/')
      context.out(context.json ? JSON.stringify({ user: configFile, project: project ?? null }) : configFile)
    })
}

/** Writes a setting into the file of a project. The person who types it agrees to it, as `pcc trust` would ask. */
async function setInProject(
  { key, text, path }: { key: SettingKey; text: string; path: string },
  { paths, env, json, out }: CommandContext,
): Promise<void> {
  const [{ parseSettingText, setInProjectFile }, { trustWritten }, { projectPath }, trust] = await Promise.all([
    import('../../domain/config/edit.ts'),
    import('./gates-run.ts'),
    import('./init/init-project.ts'),
    import('../../policy/trust/trust.ts'),
  ])
  const value = parseSettingText(key, text)
  const project = projectPath(path, { env, force: true })
  const home = env['HOME'] ?? '/'
  const file = (await findProjectFile(project, home)) ?? join(project, '.perpetualcc.toml')
  const before = await trust.trustStatus(paths, project)
  setInProjectFile(file, [{ key, value }], home)
  const left = await trustWritten(before, file, { paths, trust })
  if (json) return out(JSON.stringify({ key, value, file, agreed: left === undefined }))
  out(`${key} = ${formatValue(value)}  (in ${file}, for this project)`)
  out(left ?? 'It counts from now on. Commit the file with your project.')
}

/** A context that does not read the config file for the data directory, so that an invalid file can still be reset. */
async function plainContext(
  command: Command,
): Promise<Pick<CommandContext, 'json' | 'out' | 'note'> & { paths: AppPaths }> {
  const options = command.optsWithGlobals<{ config?: string; dataDir?: string; json?: boolean; quiet?: boolean }>()
  refuseWrongHome(process.env)
  return {
    paths: appPathsFor({ env: process.env, configFile: options.config, dataDir: options.dataDir }),
    json: options.json === true,
    ...printers({ json: options.json === true, quiet: options.quiet === true }),
  }
}

/** Tells the daemon what is written. The settings may have moved the daemon's directory; an invalid file moves nothing. */
async function recordFor(command: Command): Promise<RecordChange> {
  const { paths } = await commandContext(command).catch(() => plainContext(command))
  return (await import('./accept.ts')).recordWith(paths)
}

interface BrainCommandOptions extends BrainOptions {
  test: boolean
}

interface Output {
  paths: AppPaths
  json: boolean
  out(line: string): void
  note(line: string): void
}

/** `pcc config brain <kind>`: writes the settings of a brain once it has answered a test question. */
function addBrainCommand(config: Command, outputFor: (command: Command) => Promise<Output>): void {
  config
    .command('brain')
    .description('Set up a brain: say what it needs, check it, ask it a test question')
    .addArgument(new Argument('<kind>', 'none: only rules decide').choices(BRAIN_KINDS))
    .option('--model <name>', 'the model')
    .option('--key-env <name>', 'take the API key from this variable')
    .option('--key-stdin', 'read the API key from standard input')
    .option('--url <url>', 'where its server is')
    .option('--no-test', 'write the settings without checking them')
    .option('--json', 'print JSON')
    .action(async (kind: BrainKind, options: BrainCommandOptions, command: Command) => {
      refuseInSession(process.env, `config brain ${kind}`)
      await setUpBrainCommand(kind, options, { ...(await outputFor(command)), record: await recordFor(command) })
    })
}

async function setUpBrainCommand(
  kind: BrainKind,
  options: BrainCommandOptions,
  { paths, json, out, note, record }: Output & { record: RecordChange },
): Promise<void> {
  const { checkOptions } = await import('./config-brain.ts')
  checkOptions(kind, options)
  const { settings, model, tested } =
    kind === 'none' ? NO_BRAIN : await chooseBrain(kind, options, { paths, json, note })
  const { setSetting } = await import('../../domain/config/edit.ts')
  const file = paths.configFile
  const shown: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(settings)) {
    if (value === undefined || !isSettingKey(key)) continue
    shown[key] = maskSecret(key, await setSetting(paths, key, String(value), { record }), false)
  }
  if (json) return out(JSON.stringify({ kind, model: model ?? null, file, settings: shown, test: tested ?? null }))
  if (tested) out(`${kind} answers: ${model} said "${tested.answer}" to a test question (${tested.ms} ms).`)
  for (const [key, value] of Object.entries(shown)) out(`${key} = ${formatValue(value)}  (in ${file})`)
  if (kind === 'none') out('Questions are answered by rules, and by you.')
}

const NO_BRAIN = { settings: { 'brain.type': 'none' as const }, model: undefined, tested: undefined }

async function chooseBrain(
  kind: Exclude<BrainKind, 'none'>,
  options: BrainCommandOptions,
  { paths, json, note }: Pick<Output, 'paths' | 'json' | 'note'>,
) {
  const [{ setUpBrain }, { openPrompter }] = await Promise.all([import('./config-brain.ts'), import('../input.ts')])
  const { openSecrets } = await import('../../domain/config/open-secrets.ts')
  const secrets = openSecrets({ paths, env: process.env })
  const atTerminal = !json && process.stdin.isTTY === true && process.stderr.isTTY === true
  const leave = new AbortController()
  const interrupt = () => leave.abort()
  process.once('SIGINT', interrupt)
  try {
    return await setUpBrain({
      kind,
      options,
      load: async settings => {
        const { config, values } = await loadConfig({ paths, env: process.env, project: null, flags: settings })
        return { config: await fillSecrets(config, secrets), values }
      },
      person: atTerminal ? await openPrompter(`Setting up ${kind}`) : undefined,
      env: process.env,
      note,
      signal: leave.signal,
    })
  } finally {
    process.off('SIGINT', interrupt)
  }
}
