import { homedir } from 'node:os'
import { isAbsolute } from 'node:path'
import { AppError } from '../../base/errors.ts'
import { type PlaceOptions, type Places, placesFor } from '../../base/places.ts'
import { readUserFile } from './file-layer.ts'

/** `placesFor` that also heeds `data.directory` of the user's file; call it where `dataDirectoryHint` says `look`. */
export async function resolvePlaces(options: PlaceOptions): Promise<Places> {
  const { env } = options
  refuseRelativeHome(env['PCC_HOME'])
  const places = placesFor(options)
  const user = await readUserFile(places, env['HOME'] || homedir())
  if (options.dataDir || env['PCC_DATA_DIRECTORY']) return places
  const dataDir = user?.values['data.directory']
  return dataDir === undefined ? places : placesFor({ ...options, dataDir })
}

/** It would be another home, with another daemon, in every directory one stands in. */
function refuseRelativeHome(home: string | undefined): void {
  if (!home || isAbsolute(home)) return
  const problem = `expected an absolute path, found "${home}"`
  throw new AppError('setting_invalid', { origin: 'environment', key: 'PCC_HOME', problem })
}
