package rest

// Routes lists the interface as "METHOD path".
func Routes() []string {
	var list []string
	for _, rt := range routes {
		list = append(list, rt.method+" "+rt.path)
	}
	return list
}
