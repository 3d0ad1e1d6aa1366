import { join } from 'node:path'
import { KeptMarkers } from '../../base/process/kept-markers.ts'

/** Markers of processes that were started for a session which has no row yet; from its row on the session keeps it itself. */
export class WarmMarkers extends KeptMarkers {
  constructor(runDir: string) {
    super(join(runDir, 'warm'))
  }
}
