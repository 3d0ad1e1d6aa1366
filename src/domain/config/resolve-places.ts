import { homedir } from 'node:os'
import { type PlaceOptions, type Places, placesFor } from '../../base/places.ts'
import { readConfigFile } from './file-layer.ts'

/** `placesFor` that also heeds `data.directory` of the user's file; call it where `dataDirectoryHint` says `look`. */
export async function resolvePlaces(options: PlaceOptions): Promise<Places> {
  const places = placesFor(options)
  if (options.dataDir || options.env['PCC_DATA_DIRECTORY']) return places
  const user = await readConfigFile(places.configFile, options.env['HOME'] || homedir())
  const dataDir = user?.values['data.directory']
  return dataDir === undefined ? places : placesFor({ ...options, dataDir })
}
