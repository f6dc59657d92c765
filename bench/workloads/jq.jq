[.[] | {id, label: (.name + "/" + .tags[0])}] | group_by(.id % 10)
