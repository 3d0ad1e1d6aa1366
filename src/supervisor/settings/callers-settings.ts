import { isAbsolute, join } from 'node:path'
import { AppError } from '../../base/errors.ts'
import type { Places } from '../../base/places.ts'
import type { StartSession } from '../../domain/api.ts'

interface Own {
  places: Places
  env: Record<string, string | undefined>
}

/**
 * The settings that hold for a session are those of the shell it was started from: that shell's config file and PCC_*
 * variables. One who talks to the daemon without saying any gets the daemon's own.
 */
export function callersSettings({ config, settings }: Pick<StartSession, 'config' | 'settings'>, own: Own): Own {
  const { places, env } = own
  if (config && !isAbsolute(config)) {
    throw new AppError('bad_request', { route: 'POST /sessions', problem: `config: ${config} is not an absolute path` })
  }
  return {
    places: config === undefined ? places : { ...places, configFile: config ?? join(places.home, 'config.toml') },
    env: settings === undefined ? env : { HOME: env['HOME'], ...settings },
  }
}
