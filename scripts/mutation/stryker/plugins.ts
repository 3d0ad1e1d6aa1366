import { declareClassPlugin, declareValuePlugin, PluginKind } from '@stryker-mutator/api/plugin'
import { RepeatingRunner } from './runner.ts'
import { ignoreData } from './tables.ts'

/** The plugins for stryker.config.json: how tests run, and which strings are not logic. */
export const strykerPlugins = [
  declareClassPlugin(PluginKind.TestRunner, 'repeating', RepeatingRunner),
  declareValuePlugin(PluginKind.Ignore, 'data', { shouldIgnore: ignoreData }),
]
