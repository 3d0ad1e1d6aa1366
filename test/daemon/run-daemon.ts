import { placesFor } from '../../src/base/places.ts'
import { runDaemon } from '../../src/daemon/main.ts'

// A daemon as a process of its own, without the command line around it.
process.exit(await runDaemon({ places: placesFor({ env: process.env }), env: process.env }))
