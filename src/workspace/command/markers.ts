import { join } from 'node:path'
import { KeptMarkers } from '../../base/process/kept-markers.ts'

/** Markers of commands that run for a project: where the next daemon looks for what this one left running. */
export function commandMarkers(runDir: string): KeptMarkers {
  return new KeptMarkers(join(runDir, 'commands'))
}
