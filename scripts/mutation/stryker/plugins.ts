import { declareClassPlugin, declareValuePlugin, PluginKind } from '@stryker-mutator/api/plugin'
import { RepeatingRunner } from './runner.ts'
import { ignoreData } from './tables.ts'

/** What stryker.config.json names: how tests are run, and which strings are no logic. */
export const strykerPlugins = [
  declareClassPlugin(PluginKind.TestRunner, 'repeating', RepeatingRunner),
  declareValuePlugin(PluginKind.Ignore, 'data', { shouldIgnore: ignoreData }),
]
