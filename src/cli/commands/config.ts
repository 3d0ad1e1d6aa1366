import type { Command } from 'commander'
import { type Places, placesFor } from '../../base/places.ts'
import { variableIn } from '../../domain/config/environment-layer.ts'
import { type LoadedConfig, loadConfig } from '../../domain/config/load.ts'
import { findProjectFile } from '../../domain/config/project-layer.ts'
import { settingNamed } from '../../domain/config/setting-names.ts'
import { settingOf } from '../../domain/config/settings.ts'
import { addBrainCommand } from '../config/brain/command.ts'
import { settingRow, visible, written } from '../config/rows.ts'
import { type Context, contextOf } from '../context.ts'
import { refuseInSession } from './decide/own-terminal.ts'

/** `pcc config show | get | set | reset | brain | path`. What only one of them needs is imported there: `get` is called by scripts. */
export function addConfigCommand(program: Command): void {
  const config = program.command('config').description('Show and change settings.')

  config
    .command('show')
    .description('show every setting')
    .option('--origin', 'also where each value came from')
    .option('--reveal', 'show secrets')
    .option('--project <dir>', 'as seen from this project', '.')
    .option('--json', 'print JSON')
    .action(async (options: { origin?: boolean; reveal?: boolean; project: string }, command: Command) => {
      const context = await contextOf(command)
      const loaded = await loadFor(command, context, options.project)
      const { showConfig } = await import('../config/show.ts')
      showConfig(context, loaded, { origin: options.origin === true, reveal: options.reveal === true })
    })

  config
    .command('get <key>')
    .description('show one setting')
    .option('--reveal', 'show it even if it is a secret')
    .option('--project <dir>', 'as seen from this project', '.')
    .option('--json', 'print JSON')
    .action(async (name: string, options: { reveal?: boolean; project: string }, command: Command) => {
      const context = await contextOf(command)
      const key = settingNamed(name)
      const row = settingRow(await loadFor(command, context, options.project), key, options.reveal === true)
      context.out(context.json ? JSON.stringify(row, null, 2) : `${key} = ${written(row.value)}`)
    })

  config
    .command('set <key> <value>')
    .description('set one value in your config file; lists by commas')
    .option('--json', 'print JSON')
    .action(async (name: string, text: string, _options: object, command: Command) => {
      const context = { ...(await plainContext(command)), env: process.env }
      const key = settingNamed(name)
      refuseInSession(process.env, `config set ${key} …`)
      const { setSetting } = await import('../../domain/config/edit.ts')
      const value = visible(key, setSetting(context.places, key, text), false)
      const file = context.places.configFile
      context.out(context.json ? JSON.stringify({ key, value, file }) : `${key} = ${written(value)}  (in ${file})`)
      const variable = variableIn(context.env, key)
      if (variable) context.note(`${variable} is set and stands above the file.`)
      if (!settingOf(key).inForce)
        context.note(`${key} is kept but not yet in force: nothing heeds it in this version.`)
    })

  config
    .command('reset [key]')
    .description('back to the default, for one key or all; the old file is kept beside it')
    .option('--yes', 'do not ask')
    .option('--json', 'print JSON')
    .action(async (name: string | undefined, options: { yes?: boolean }, command: Command) => {
      const context = await plainContext(command)
      const { places } = context
      const key = name === undefined ? undefined : settingNamed(name)
      refuseInSession(process.env, `config reset ${key ?? ''}`.trim())
      const what = key ?? `all settings in ${places.configFile}`
      const { confirm } = await import('../confirm.ts')
      await confirm({ action: `Resetting ${what}`, question: `Reset ${what}?`, yes: options.yes === true })
      const { resetSetting, resetSettings } = await import('../../domain/config/edit.ts')
      const backup = key ? resetSetting(places, key) : resetSettings(places)
      const said = backup ? `Reset ${what}. The old file is ${backup}` : `Nothing to reset: ${what} was not set.`
      context.out(context.json ? JSON.stringify({ key: key ?? null, backup: backup ?? null }) : said)
    })

  addBrainCommand(config, plainContext)

  config
    .command('path')
    .description('where your config file is')
    .option('--json', 'print JSON')
    .action(async (_options: object, command: Command) => {
      const context = await plainContext(command)
      const { configFile } = context.places
      const project = await findProjectFile('.', process.env['HOME'] ?? '/')
      context.out(context.json ? JSON.stringify({ user: configFile, project: project ?? null }) : configFile)
    })
}

/** The settings as a project sees them, with what a person has agreed to. */
async function loadFor(command: Command, { places, env }: Context, project: string): Promise<LoadedConfig> {
  const given = command.optsWithGlobals<{ dataDir?: string }>().dataDir
  const flags = given === undefined ? {} : { 'data.directory': places.data }
  const untrusted = await loadConfig({ places, env, project, flags })
  if (untrusted.untrusted.length === 0) return untrusted
  const { trustedFile, trustStatus } = await import('../../policy/trust.ts')
  return loadConfig({ places, env, project, flags, trusted: trustedFile(await trustStatus(places, project)) })
}

/** Does not read the config file to find the data directory, so that a wrong file can still be reset. */
async function plainContext(command: Command): Promise<Pick<Context, 'json' | 'out' | 'note'> & { places: Places }> {
  const options = command.optsWithGlobals<{ config?: string; dataDir?: string; json?: boolean; quiet?: boolean }>()
  return {
    places: placesFor({ env: process.env, configFile: options.config, dataDir: options.dataDir }),
    json: options.json === true,
    out: line => process.stdout.write(`${line}\n`),
    note: line => {
      if (!options.quiet) process.stderr.write(`${line}\n`)
    },
  }
}
