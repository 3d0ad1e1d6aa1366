import { type Ecosystem, type FoundCommand, usual } from '../found.ts'

/** C#, F#, Visual Basic: dotnet. A solution builds the projects below it. */
export const dotnet: Ecosystem = async folder => {
  const solutions = folder.matching(/\.slnx?$/i)
  const from = solutions[0] ?? folder.matching(/\.(cs|fs|vb)proj$/i)[0]
  if (from === undefined) return undefined
  const caution = solutions.length > 1 ? 'there are several solutions here: name the one that is meant' : undefined
  const command = (kind: FoundCommand['kind'], run: string): FoundCommand => ({
    ...usual(kind, run, from),
    ...(caution !== undefined && { caution }),
  })
  return {
    ecosystem: 'dotnet',
    manager: 'dotnet',
    manager_from: from,
    commands: [
      command('setup', 'dotnet restore'),
      command('build', 'dotnet build'),
      command('format', 'dotnet format --verify-no-changes'),
      command('test', 'dotnet test'),
    ],
    members: solutions.length > 0 ? ['**'] : [],
  }
}
